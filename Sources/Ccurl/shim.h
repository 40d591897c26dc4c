// libcurl, and typed faces of its variadic functions, which Swift cannot call.
#pragma once
#include <curl/curl.h>

// curl_easy_setopt, one function for each C type that options take.
static inline CURLcode curl_setopt_long(CURL *_Nonnull h, CURLoption o, long v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode curl_setopt_offset(CURL *_Nonnull h, CURLoption o, curl_off_t v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode curl_setopt_string(CURL *_Nonnull h, CURLoption o, const char *_Nullable v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode curl_setopt_pointer(CURL *_Nonnull h, CURLoption o, void *_Nullable v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode curl_setopt_list(CURL *_Nonnull h, CURLoption o, struct curl_slist *_Nullable v) { return curl_easy_setopt(h, o, v); }
// libcurl keeps a copy of the bytes.
static inline CURLcode curl_setopt_bytes(CURL *_Nonnull h, CURLoption o, const void *_Nullable bytes, size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(h, o, &blob);
}
typedef size_t (*curl_data_function)(char *_Nullable, size_t, size_t, void *_Nullable);
static inline CURLcode curl_setopt_data_function(CURL *_Nonnull h, CURLoption o, curl_data_function _Nullable f) { return curl_easy_setopt(h, o, f); }
typedef int (*curl_seek_function)(void *_Nullable, curl_off_t, int);
static inline CURLcode curl_setopt_seek_function(CURL *_Nonnull h, curl_seek_function _Nullable f) { return curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, f); }

typedef int (*curl_prereq_function)(void *_Nullable, char *_Nullable, char *_Nullable, int, int);
static inline CURLcode curl_setopt_prereq_function(CURL *_Nonnull h, curl_prereq_function _Nullable f) { return curl_easy_setopt(h, CURLOPT_PREREQFUNCTION, f); }
typedef int (*curl_close_function)(void *_Nullable, curl_socket_t);
static inline CURLcode curl_setopt_close_function(CURL *_Nonnull h, curl_close_function _Nullable f) { return curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, f); }

// curl_easy_getinfo.
static inline CURLcode curl_getinfo_long(CURL *_Nonnull h, CURLINFO i, long *_Nonnull v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode curl_getinfo_offset(CURL *_Nonnull h, CURLINFO i, curl_off_t *_Nonnull v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode curl_getinfo_string(CURL *_Nonnull h, CURLINFO i, const char *_Nullable *_Nonnull v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode curl_getinfo_pointer(CURL *_Nonnull h, CURLINFO i, void *_Nullable *_Nonnull v) { return curl_easy_getinfo(h, i, v); }

// The beginnings of the lists of facts about each certificate of the server, its own first; NULL without TLS.
static inline const struct curl_slist *_Nullable curl_certificate_facts(CURL *_Nonnull h) {
  struct curl_certinfo *found = NULL;
  if (curl_easy_getinfo(h, CURLINFO_CERTINFO, &found) != CURLE_OK || !found || found->num_of_certs < 1) return NULL;
  return found->certinfo[0];
}

// curl_multi_setopt.
static inline CURLMcode curl_multi_setopt_long(CURLM *_Nonnull m, CURLMoption o, long v) { return curl_multi_setopt(m, o, v); }
static inline CURLMcode curl_multi_setopt_pointer(CURLM *_Nonnull m, CURLMoption o, void *_Nullable v) { return curl_multi_setopt(m, o, v); }
typedef int (*curl_socket_function)(CURL *_Nullable, curl_socket_t, int, void *_Nullable, void *_Nullable);
static inline CURLMcode curl_multi_setopt_socket_function(CURLM *_Nonnull m, curl_socket_function _Nullable f) { return curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, f); }
typedef int (*curl_timer_function)(CURLM *_Nullable, long, void *_Nullable);
static inline CURLMcode curl_multi_setopt_timer_function(CURLM *_Nonnull m, curl_timer_function _Nullable f) { return curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, f); }

// A message's result lies in a union.
static inline CURLcode curl_message_result(const CURLMsg *_Nonnull m) { return m->data.result; }
