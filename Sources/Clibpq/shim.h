// libpq, and what Swift cannot import of it: character-literal macros and variadic functions.
#pragma once
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
