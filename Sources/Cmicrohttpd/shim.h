// libmicrohttpd: the HTTP server of every program of ours that listens. Header only; nothing is compiled.
#pragma once
#include <microhttpd.h>
#include <stdint.h>

// MHD_start_daemon, MHD_get_connection_info and MHD_get_daemon_info are variadic, which Swift cannot call.
static inline struct MHD_Daemon *_Nullable mhd_start(
    uint32_t flags, int listener, MHD_AccessHandlerCallback _Nonnull handler,
    MHD_RequestCompletedCallback _Nonnull completed, void *_Nonnull context,
    const struct MHD_OptionItem *_Nonnull options) {
  return MHD_start_daemon(
      flags, 0, NULL, NULL, handler, context, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// The descriptor that is readable when there is something to be run, or -1.
static inline int mhd_epoll(struct MHD_Daemon *_Nonnull daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info == NULL ? -1 : info->epoll_fd;
}

/// Milliseconds after which there is something to be run at the latest, at most a minute.
static inline int mhd_wait(struct MHD_Daemon *_Nonnull daemon) {
  MHD_UNSIGNED_LONG_LONG wait;
  return MHD_get_timeout(daemon, &wait) == MHD_YES && wait < 60000 ? (int)wait : 60000;
}

/// Whether a connection is suspended, as its thread sees it.
static inline _Bool mhd_is_suspended(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED);
  return info != NULL && info->suspended == MHD_YES;
}

/// Bytes of a request from its first to the end of its headers, or 0.
static inline size_t mhd_head_size(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

/// The socket of a connection, or -1.
static inline int mhd_socket(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// Enumerators with the "closed" attribute are imported under names of Swift's own making, and macros with
// casts not at all; plain constants spell the same in every version of the header.
static const enum MHD_Result mhd_yes = MHD_YES;
static const enum MHD_Result mhd_no = MHD_NO;
static const ssize_t mhd_reader_failed = MHD_CONTENT_READER_END_WITH_ERROR;
static const ssize_t mhd_reader_ended = MHD_CONTENT_READER_END_OF_STREAM;
/// The length of a body that ends when its reader says so.
static const uint64_t mhd_unknown_length = UINT64_MAX;
// The library's own loop over epoll, as of 0.9.75, stops until the next event when just 128 are there, or a multiple. So
// each thread of ours waits and has the library look once. It is woken by us: without this flag the library makes no
// channel for it.
static const uint32_t mhd_flags =
    (uint32_t)MHD_USE_EPOLL | (uint32_t)MHD_USE_ERROR_LOG | ((uint32_t)MHD_ALLOW_SUSPEND_RESUME & ~(uint32_t)MHD_USE_ITC);
static const uint32_t mhd_flags_tls = (uint32_t)MHD_USE_TLS;
static const uint32_t mhd_connection_started = (uint32_t)MHD_CONNECTION_NOTIFY_STARTED;

static inline struct MHD_OptionItem mhd_option(enum MHD_OPTION name, intptr_t value, void *_Nullable pointer) {
  struct MHD_OptionItem item = {name, value, pointer};
  return item;
}
static inline struct MHD_OptionItem mhd_option_memory(intptr_t bytes) { return mhd_option(MHD_OPTION_CONNECTION_MEMORY_LIMIT, bytes, NULL); }
static inline struct MHD_OptionItem mhd_option_connections(intptr_t count) { return mhd_option(MHD_OPTION_CONNECTION_LIMIT, count, NULL); }
static inline struct MHD_OptionItem mhd_option_idle(intptr_t seconds) { return mhd_option(MHD_OPTION_CONNECTION_TIMEOUT, seconds, NULL); }
static inline struct MHD_OptionItem mhd_option_certificate(void *_Nonnull pem) { return mhd_option(MHD_OPTION_HTTPS_MEM_CERT, 0, pem); }
static inline struct MHD_OptionItem mhd_option_key(void *_Nonnull pem) { return mhd_option(MHD_OPTION_HTTPS_MEM_KEY, 0, pem); }
static inline struct MHD_OptionItem mhd_option_priorities(const char *_Nonnull text) { return mhd_option(MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)text); }
static inline struct MHD_OptionItem mhd_option_target(void *_Nullable (*_Nonnull told)(void *_Nullable, const char *_Nonnull, struct MHD_Connection *_Nullable), void *_Nonnull context) { return mhd_option(MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)told, context); }
static inline struct MHD_OptionItem mhd_option_notify(MHD_NotifyConnectionCallback _Nonnull told, void *_Nonnull context) {
  return mhd_option(MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)told, context);
}
/// Before all other options: what the library says of itself, which would go to standard error.
static inline struct MHD_OptionItem mhd_option_log(MHD_LogCallback _Nonnull told, void *_Nonnull context) {
  return mhd_option(MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)told, context);
}
static inline struct MHD_OptionItem mhd_option_end(void) { return mhd_option(MHD_OPTION_END, 0, NULL); }

/// A response over a copy of the bytes.
static inline struct MHD_Response *_Nullable mhd_response(const void *_Nullable bytes, size_t count) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

/// A response whose bytes a function reads, piece by piece.
static inline struct MHD_Response *_Nullable mhd_read_response(
    uint64_t length, MHD_ContentReaderCallback _Nonnull read, void *_Nonnull context,
    MHD_ContentReaderFreeCallback _Nonnull free) {
  return MHD_create_response_from_callback(length, 4096, read, context, free);
}

/// The value of a request's header, or NULL.
static inline const char *_Nullable mhd_header(struct MHD_Connection *_Nonnull connection, const char *_Nonnull name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

// What MHD_get_connection_values_n goes through: with sizes, since what was escaped may hold a zero byte.
static inline void mhd_each_header(struct MHD_Connection *_Nonnull connection, MHD_KeyValueIteratorN _Nonnull each, void *_Nonnull context) {
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, each, context);
}
static inline void mhd_each_cookie(struct MHD_Connection *_Nonnull connection, MHD_KeyValueIteratorN _Nonnull each, void *_Nonnull context) {
  MHD_get_connection_values_n(connection, MHD_COOKIE_KIND, each, context);
}
static inline void mhd_each_argument(struct MHD_Connection *_Nonnull connection, MHD_KeyValueIteratorN _Nonnull each, void *_Nonnull context) {
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, each, context);
}
