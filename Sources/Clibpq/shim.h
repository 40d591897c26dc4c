// libpq, and what Swift cannot import of it: character-literal macros, variadic functions, and what only newer ones have.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <libpq-fe.h>

// PG_DIAG_* are macros over character literals, which Swift does not import.
static inline const char *pq_diag_sqlstate(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_SQLSTATE); }
static inline const char *pq_diag_message(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY); }
static inline const char *pq_diag_detail(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_MESSAGE_DETAIL); }
static inline const char *pq_diag_hint(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_MESSAGE_HINT); }
static inline const char *pq_diag_context(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_CONTEXT); }
static inline const char *pq_diag_constraint(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME); }
static inline const char *pq_diag_schema(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_SCHEMA_NAME); }
static inline const char *pq_diag_table(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_TABLE_NAME); }
static inline const char *pq_diag_column(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_COLUMN_NAME); }
// The severity as the protocol has it, whatever the server's language.
static inline const char *pq_diag_severity(const PGresult *_Nonnull r) { return PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED); }

// Rows of a statement so many in a result, by libpq 17 and newer; by older ones one in a result.
static inline bool pq_split_rows(PGconn *_Nonnull c, int rows) {
#ifdef LIBPQ_HAS_CHUNK_MODE
  if (rows > 1) return PQsetChunkedRowsMode(c, rows) == 1;
#endif
  return PQsetSingleRowMode(c) == 1;
}

// Whether a result has a part of the rows.
static inline bool pq_is_part(ExecStatusType status) {
#ifdef LIBPQ_HAS_CHUNK_MODE
  if (status == PGRES_TUPLES_CHUNK) return true;
#endif
  return status == PGRES_SINGLE_TUPLE;
}

// A cancellation that does not block, by libpq 17 and newer; NULL where it cannot be begun. It connects as the connection
// did, with TLS where that has it; `PQcancel` goes without.
#ifdef LIBPQ_HAS_ASYNC_CANCEL
static inline bool pq_has_async_cancel(void) { return true; }
static inline void *_Nullable pq_cancel_begin(PGconn *_Nonnull c) {
  PGcancelConn *request = PQcancelCreate(c);
  if (request == NULL || PQcancelStart(request) == 1) return request;
  PQcancelFinish(request);
  return NULL;
}
static inline PostgresPollingStatusType pq_cancel_advance(void *_Nonnull r) { return PQcancelPoll((PGcancelConn *)r); }
static inline int pq_cancel_socket(const void *_Nonnull r) { return PQcancelSocket((const PGcancelConn *)r); }
static inline void pq_cancel_end(void *_Nonnull r) { PQcancelFinish((PGcancelConn *)r); }
#else
static inline bool pq_has_async_cancel(void) { return false; }
static inline void *_Nullable pq_cancel_begin(PGconn *_Nonnull c) { return NULL; }
static inline PostgresPollingStatusType pq_cancel_advance(void *_Nonnull r) { return PGRES_POLLING_FAILED; }
static inline int pq_cancel_socket(const void *_Nonnull r) { return -1; }
static inline void pq_cancel_end(void *_Nonnull r) {}
#endif
