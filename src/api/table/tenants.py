"""Tenants, their keys, their usage, and the audit log. See docs/tenants.md."""
from .common import LIMIT, NEXT, moment
from .model import Call, Field, Struct

BEFORE = Field("before", "id", "Entries older than this id: `next` of the page before",
               place="query", schema={"type": "string"})

TAG = ("Tenants", "Tenants, keys, usage and the audit")
BYTES = 1 << 50
WEEK_MS = 7 * 86400 * 1000
LIFETIME_MS = 10 * 366 * 86400 * 1000
NAMED = {"least": 1, "most": 63, "form": "line"}
SCOPES = ("admin", "sessions", "execute", "files", "read", "agent")

QUOTAS = (  # in the order of enum front_quota
    ("sessions", "number", "Live ones", 1000000),
    ("executions", "number", "That run or wait", 1000000),
    ("queued", "number", "Of those, that wait", 1000000),
    ("workers", "number", "At once; what is more waits", 1024),
    ("weight", "number", "Share of the workers", 1000),
    ("requests_per_s", "number", "Of all its keys", 1000000),
    ("cpu_s_per_hour", "seconds", "Of processors", WEEK_MS * 1000),
    ("memory_bytes", "number", "Sum of the limits of live sessions", BYTES),
    ("memory_used_bytes", "number", "As measured", BYTES),
    ("disk_bytes", "number", "Workspaces, and what is kept", BYTES),
    ("max_wall_s", "seconds", "That a session may be given", WEEK_MS),
    ("max_cpu_s", "seconds", "That a session may be given", WEEK_MS),
    ("max_memory_bytes", "number", "That a session may be given", BYTES),
    ("max_disk_bytes", "number", "That a session may be given", BYTES),
    ("max_files", "number", "That a session may be given", 1000000000),
    ("max_file_bytes", "number", "That a session may be given", BYTES),
    ("max_output_bytes", "number", "That a session may be given", 64 << 20),
    ("max_processes", "number", "That a session may be given", 4194304),
    ("max_cpu_percent", "number", "That a session may be given", 1000000),
    ("max_displays", "number", "That a session may be given", 100000),
    ("max_idle_timeout_s", "seconds", "That a session may be given", 30 * 86400 * 1000),
    ("cpu_weight", "number", "Of the processors, for all sessions together", 10000),
    ("cpu_percent", "number", "Of the processors, for all sessions together", 1000000),
    ("processes", "number", "Of clients, that run", 1000000),
)


def quotas(nullable):
    return tuple(Field(name, kind, doc, least=1, most=most, nullable=nullable)
                 for name, kind, doc, most in QUOTAS)


WANTED = Struct("quotas_update", "Quotas to be set; null: as everybody's again.", quotas(True))
GIVEN = Struct("quotas", "Quotas that are the tenant's own.", quotas(False))

NOW = Struct("tenant_now", "What a tenant has.", (
    Field("sessions", "number", "Live", required=True),
    Field("executions", "number", "That run or wait", required=True),
    Field("disk_bytes", "number", "Workspaces, and what is kept", required=True),
))

TENANT = Struct("tenant", "A user, a team or an application that shares the daemon.", (
    Field("id", "text", "te_…", required=True),
    Field("name", "text", "Of one tenant at a time", required=True),
    Field("state", "text", required=True, schema={"enum": ["active", "suspended"]}),
    moment("created_at", "When it was made", required=True),
    Field("quotas", "one", required=True, of=GIVEN),
    Field("now", "one", required=True, of=NOW),
), schema="Tenant")

TENANTS = Struct("tenants", "A page of tenants.", (
    Field("tenants", "many", "Newest first", required=True, of=TENANT),
    NEXT,
), schema="Tenants")

OF_KEY = (
    Field("id", "text", "key_…", required=True),
    Field("tenant", "text", "Whose it is", required=True),
    Field("name", "text", "What lists show it as", required=True),
    Field("state", "word", required=True, words=("active", "expired")),
    Field("scopes", "words", "What it may do", required=True, words=SCOPES),
    moment("created_at", "When it was made", required=True),
    Field("expires_at", "time", "When it ends"),
    moment("used_at", "To the minute"),
    Field("mcp_approve", "flag", "A person approves what its MCP calls do, as with "
          "`reckon serve --mcp-approve`"),
)

KEY = Struct("key", "An API key, without its text.", OF_KEY, schema="Key")
KEYS = Struct("keys", "A page of keys.", (
    Field("keys", "many", "Newest first", required=True, of=KEY),
    NEXT,
), schema="Keys")
NEW_KEY = Struct("new_key", "A key with its text, which is told once.", (
    *OF_KEY,
    Field("key", "text", "rk_…", required=True,
          schema={"type": "string", "pattern": "^rk_[A-Za-z0-9_-]{43}$"}),
), schema="NewKey")

DAY = Struct("usage_day", "What a tenant used on a day.", (
    Field("tenant", "text", "te_…", required=True),
    Field("day", "text", "Of UTC", required=True, schema={"type": "string", "format": "date"}),
    Field("sessions", "number", "Opened", required=True),
    Field("executions", "number", "Ended", required=True),
    Field("wall_s", "seconds", "Of executions", required=True),
    Field("cpu_s", "seconds", "Of executions", required=True),
    Field("memory_mib_s", "number", "The peak of each execution, for as long as it took",
          required=True),
    Field("bytes_in", "number", "Code and uploads", required=True),
    Field("bytes_out", "number", "Records and downloads", required=True),
    Field("disk_bytes", "number", "The most that was kept at once", required=True),
))
USAGE = Struct("usage", "What tenants used.", (
    Field("usage", "many", "By day and tenant", required=True, of=DAY),
), schema="Usage")

ID = {"place": "path", "required": True}
OF_TENANT = Field("tenant", "id", "Of this tenant; another than the key's own takes the scope admin",
                  place="query", schema={"type": "string"})

STRUCTS = (WANTED, GIVEN, NOW, TENANT, TENANTS, KEY, KEYS, NEW_KEY, DAY, USAGE)

CALLS = (
    Call("usage", "GET", "usage",
         "What tenants used, by day: the key's own, or with the scope admin all", "Used", "read",
         takes=(OF_TENANT,
                Field("from", "text", "The first day", place="query", form="day"),
                Field("to", "text", "The last day", place="query", form="day"),
                Field("format", "word", "As `Accept: text/csv` says it too", place="query",
                      words=("json", "csv"), default="json")),
         gives=USAGE, errors=(404,), also_media=("text/csv",)),
    Call("tenant_list", "GET", "tenants", "List tenants, newest first", "Tenants", "admin",
         takes=(LIMIT, BEFORE), gives=TENANTS, operation="listTenants"),
    Call("tenant_create", "POST", "tenants", "Make a tenant", "Made", "admin",
         grows=True,
         takes=(Field("name", "text", "Of one tenant at a time", required=True, **NAMED),
                Field("quotas", "one", of=WANTED)),
         gives=TENANT, status=201, errors=(409, 507), operation="createTenant",
         body="TenantCreate"),
    Call("tenant_show", "GET", "tenants/{id}", "Show a tenant", "The tenant", "admin",
         takes=(Field("id", "id", "te_…", **ID),), gives=TENANT, errors=(404,),
         operation="showTenant"),
    Call("tenant_change", "PATCH", "tenants/{id}", "Change a tenant's name, state or quotas",
         "The tenant", "admin",
         takes=(Field("id", "id", "te_…", **ID),
                Field("name", "text", "Of one tenant at a time", **NAMED),
                Field("state", "word", "Suspended: its keys are refused",
                      words=("active", "suspended")),
                Field("quotas", "one", of=WANTED)),
         gives=TENANT, errors=(404, 409, 507), operation="changeTenant", body="TenantChange"),
    Call("tenant_delete", "DELETE", "tenants/{id}",
         "End a tenant's sessions and keys; its history stays", "Deleted", "admin",
         takes=(Field("id", "id", "te_…", **ID),), errors=(404, 409, 507),
         operation="deleteTenant"),
    Call("key_list", "GET", "keys", "List keys, newest first", "Keys", "admin",
         takes=(LIMIT, BEFORE, OF_TENANT), gives=KEYS, errors=(404,), operation="listKeys"),
    Call("key_create", "POST", "keys", "Make a key; its text is in this answer alone", "Made",
         "admin",
         grows=True,
         takes=(Field("name", "text", "What lists show it as", **NAMED),
                Field("tenant", "id", "The key's own without it", schema={"type": "string"}),
                Field("scopes", "words", "What it may do", required=True, words=SCOPES),
                Field("expires_s", "seconds", "From now on; without it the key does not expire",
                      least=1000, most=LIFETIME_MS),
                Field("mcp_approve", "flag", "A person has to approve what its MCP calls do; a "
                      "client that cannot ask one does nothing")),
         gives=NEW_KEY, status=201, errors=(404, 507), operation="createKey", body="KeyCreate"),
    Call("key_delete", "DELETE", "keys/{id}", "Revoke a key", "Revoked", "admin",
         takes=(Field("id", "id", "key_…", **ID),), errors=(404, 409, 507),
         operation="revokeKey"),
    Call("key_rotate", "POST", "keys/{id}/rotate",
         "Make a key's successor; the old one goes on for a while", "Made", "admin",
         takes=(Field("id", "id", "key_…", **ID),
                Field("overlap_s", "seconds", "How long the old key goes on", most=LIFETIME_MS,
                      default=86400)),
         gives=NEW_KEY, status=201, errors=(404, 507), operation="rotateKey", body="KeyRotate"),
    Call("audit_list", "GET", "audit", "Who did what, oldest first", "A page", "admin",
         takes=(Field("after", "number", "Entries behind this sequence", place="query",
                      most=(1 << 53) - 1), LIMIT),
         gives=(Field("page", "json", place="whole", required=True, schema={
             "type": "object", "required": ["entries", "first", "last"],
             "additionalProperties": False,
             "properties": {
                 "entries": {"type": "array", "items": {
                     "type": "object", "additionalProperties": False,
                     "required": ["sequence", "at", "actor", "tenant", "request", "action", "target",
                                  "outcome", "detail", "hash"],
                     "properties": {"sequence": {"type": "integer"}} | {
                         name: {"type": "string"} for name in (
                             "at", "actor", "tenant", "request", "action", "target", "outcome",
                             "detail", "hash")}}},
                 "first": {"type": "integer",
                           "description": "Sequence of the oldest entry that was not removed"},
                 "last": {"type": "integer", "description": "Sequence of the newest entry"}}}),),
         operation="listAudit"),
)
