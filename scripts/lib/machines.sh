# What scripts/lib/cluster_rig.py makes machines of. Sourced, not run; needs packages.sh and programs.sh.
#
# prepare_machines PACKAGE...   installs and builds what they need, and sets `programs`
# IN_NAMESPACES                 before a command: all that it mounts and starts ends with it

IN_NAMESPACES=(unshare --mount --net --pid --fork --kill-child --mount-proc)

prepare_machines() {
  [ "$(id -u)" -eq 0 ] || { echo "$0 needs root: it makes machines of namespaces." >&2; exit 77; }
  install_packages "${RUN_PACKAGES[@]}" "${CLUSTER_PACKAGES[@]}" "$@"
  release_programs analysis-worker analysis-gateway analysisctl image-decoder model-endpoint
}
