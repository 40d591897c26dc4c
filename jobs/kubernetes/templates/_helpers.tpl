{{- define "name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "image" -}}
{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Of a cluster: who reads from a standby is sent to one, and to the primary for what that refuses. */}}
{{- define "database.host" -}}
{{- if .root.Values.cluster.enabled }}
{{- if eq (.sessions | default "read-write") "prefer-standby" }}{{ include "name" .root }}-database-ro,{{ end }}
{{- include "name" .root }}-database-rw
{{- else }}{{ required "database.host is needed, or cluster.enabled" .root.Values.database.host }}
{{- end }}
{{- end }}

{{- define "database.authority" -}}
{{- if .Values.cluster.enabled }}{{ include "name" . }}-database-ca{{ else }}{{ .Values.database.authority }}{{ end }}
{{- end }}

{{/* What each pod has in common; called with dict root, images: whether it reaches the object store. */}}
{{- define "pod" -}}
{{- with .root.Values.imageStore }}{{ if and $.images .secret -}}
serviceAccountName: {{ .serviceAccount | default (printf "%s-images" (include "name" $.root)) }}
{{ end }}{{ end -}}
{{ with .root -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.user }}
  runAsGroup: {{ .Values.group }}
  fsGroup: {{ .Values.group }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{/* What each container has in common; called with dict root, login, files, images, sessions. */}}
{{- define "container" -}}
image: {{ include "image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - {name: PGHOST, value: {{ include "database.host" . | quote }}}
  - {name: PGPORT, value: {{ .root.Values.database.port | quote }}}
  - {name: PGDATABASE, value: {{ .root.Values.database.name | quote }}}
  - {name: PGUSER, value: {{ .login | quote }}}
  - {name: PGSSLMODE, value: verify-full}
  - {name: PGSSLROOTCERT, value: /run/authority/ca.crt}
  - {name: PGTARGETSESSIONATTRS, value: {{ .sessions | default "read-write" }}}
  # A host that is gone without a word is given up in 11 s.
  - {name: ANALYSIS_DATABASE, value: keepalives_idle=5 keepalives_interval=2 keepalives_count=3}
  - {name: PGPASSFILE, value: /run/credentials/pgpass}
  - {name: CREDENTIALS_DIRECTORY, value: /run/credentials}
  - {name: SWIFT_BACKTRACE, value: enable=no}
  - {name: HOME, value: /tmp}
{{- with .root.Values.imageStore }}{{ if and $.images .secret }}
  - {name: ANALYSIS_IMAGE_STORE, value: image-store}
  {{- if .audience }}
  - {name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /run/identity/token}
  {{- end }}
{{- end }}{{ end }}
{{- end }}

{{/* The files are mounted one by one: so they are files, and not links to what may change. */}}
{{- define "mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: authority, mountPath: /run/authority, readOnly: true}
{{- range .files }}
- {name: credentials, mountPath: /run/credentials/{{ . }}, subPath: {{ . }}, readOnly: true}
{{- end }}
{{- with .root.Values.imageStore }}{{ if and $.images .secret }}
{{- range .files }}
- {name: store, mountPath: /run/credentials/{{ . }}, subPath: {{ . }}, readOnly: true}
{{- end }}
{{- if .audience }}
- {name: identity, mountPath: /run/identity, readOnly: true}
{{- end }}
{{- end }}{{ end }}
{{- end }}

{{- define "volumes" -}}
- {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
- name: authority
  secret: {secretName: {{ include "database.authority" .root }}, items: [{key: ca.crt, path: ca.crt}]}
- name: credentials
  secret: {secretName: {{ .secret }}, defaultMode: 0440}
{{- with .root.Values.imageStore }}{{ if and $.images .secret }}
- name: store
  secret: {secretName: {{ .secret }}, defaultMode: 0440}
{{- if .audience }}
# The node writes it anew before it ends.
- name: identity
  projected: {sources: [{serviceAccountToken: {audience: {{ .audience | quote }}, path: token}}]}
{{- end }}
{{- end }}{{ end }}
{{- end }}

{{- define "probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 3
startupProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 30
{{- end }}
