"""The errors of calls: number in C and in frames, name and status for clients, meaning.

Add rows only at the end: frames and the database store their index.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Error:
    number: int  # of enum api_error
    word: str    # its C name, API_ERR_WORD
    name: str    # `error.code` of the native API
    status: int
    doc: str


ERRORS = tuple(Error(number, *row) for number, row in enumerate((
    ("INTERNAL", "internal", 500, "Something of the daemon failed."),
    ("INVALID", "invalid", 400, "The request is not what the reference says."),
    ("UNAUTHORIZED", "unauthorized", 401, "The API key is missing or not known."),
    ("DENIED", "denied", 403, "It is not allowed here."),
    ("NOT_FOUND", "not_found", 404, "There is no such file, artifact, template or path."),
    ("SESSION_NOT_FOUND", "session_not_found", 404, "The tenant never had such a session."),
    ("SESSION_CLOSED", "session_closed", 410, "The session was ended."),
    ("SESSION_EXPIRED", "session_expired", 410, "The session ended by a time-out."),
    ("SESSION_LOST", "session_lost", 410, "The session's box is gone."),
    ("EXECUTION_NOT_FOUND", "execution_not_found", 404, "The session has no such execution."),
    ("CONFLICT", "idempotency_conflict", 409,
     "The Idempotency-Key was used for another request."),
    ("BUSY", "busy", 429, "A queue is full, or the kernel is busy: ask again after Retry-After."),
    ("LIMIT", "limit", 413, "It is more than the session may have; a retry would not help."),
    ("TIMEOUT", "timeout", 504, "It took too long."),
    ("UNAVAILABLE", "unavailable", 503, "Just now it cannot be done: ask again after Retry-After."),
    ("KEY_EXPIRED", "key_expired", 401, "The API key has expired."),
    ("SCOPE", "scope_missing", 403, "The API key lacks `scope`."),
    ("TENANT_SUSPENDED", "tenant_suspended", 403, "The tenant of the API key is suspended."),
    ("TENANT_NOT_FOUND", "tenant_not_found", 404, "There is no such tenant."),
    ("KEY_NOT_FOUND", "key_not_found", 404, "There is no such API key."),
    ("LAST_ADMIN_KEY", "last_admin_key", 409,
     "Without this key nobody could administer the daemon."),
    ("NAME_TAKEN", "name_taken", 409, "Another tenant has this name."),
    ("QUOTA", "quota_exceeded", 429, "The tenant has `quota` in use: ask again after Retry-After."),
    ("QUOTA_CAP", "quota_exceeded", 403, "It is more than `quota` allows one request."),
    ("QUOTA_SIZE", "quota_exceeded", 413, "It is larger than what is left of `quota`."),
    ("OVERLOADED", "overloaded", 503, "The host has no room: ask again after Retry-After."),
    ("SESSION_EXISTS", "session_exists", 409, "A live session has this name."),
    ("DRAINING", "draining", 503, "The daemon takes no new sessions."),
    ("NOT_READY", "not_ready", 503, "The daemon could not keep a new session."),
    ("EXPIRED", "expired", 410, "It was there, and is older than what is kept."),
    ("KERNEL_LOST", "kernel_lost", 409,
     "The kernel is gone with its variables: execute, or restart it."),
    ("PRECONDITION", "precondition_failed", 412, "If-Match or If-None-Match does not hold."),
    ("EXISTS", "exists", 409, "A file is in the way."),
    ("LINK_GONE", "link_gone", 410, "The link has expired, is used up, or was revoked."),
    ("CONTEXT_NOT_FOUND", "context_not_found", 404, "The session has no such context."),
    ("EXECUTION_LOST", "execution_lost", 410,
     "It had begun, and there is no record of it."),
    ("DISK_FULL", "disk_full", 507, "The disk is full: it was not begun, or it was done and could not be kept."),
    ("MODEL_MISSING", "model_missing", 409, "No model is configured, or not that one."),
    ("RUN_NOT_FOUND", "run_not_found", 404, "The tenant has no such run."),
    ("EXECUTION_CANCELLED", "execution_cancelled", 410, "It was cancelled before it began."),
    ("PROCESS_NOT_FOUND", "process_not_found", 404, "The session has no such process."),
    ("PROCESS_ENDED", "process_ended", 409, "The process has ended."),
    ("PORT_CLOSED", "port_closed", 502, "Nothing in the session listens on this port."),
    ("TOKEN", "token_elsewhere", 403, "The token is for another session, or for none of this."),
    ("NOT_WAITING", "not_waiting", 409, "The execution waits for no such answer."),
    ("SESSION_PAUSED", "session_paused", 409, "The session is paused: resume it."),
)))

# Errors of HTTP itself, which no call returns: (name, status, meaning).
HTTP_ERRORS = (
    ("method_not_allowed", 405, "The path has other methods: `Allow` names them."),
    ("timeout", 408, "The request did not arrive in time."),
    ("body_too_large", 413, "The body is larger than what is taken."),
    ("unsupported_media_type", 415, "The body is not application/json."),
    ("range", 416, "There is nothing in this range: Content-Range has the size."),
    ("head_too_large", 431, "The head of the request is larger than what is taken."),
    ("not_supported", 501, "HTTP has this, the daemon has not."),
)
