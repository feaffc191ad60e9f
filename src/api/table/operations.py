"""Health of the daemon, and requests of its administrator."""
from .model import Call, Field, Struct

TAG = ("Operations", "How the daemon is, and what whoever runs it asks of it")

DIALECT = Struct("dialect", "A protocol that the daemon serves, by a process of its own.", (
    Field("name", "text", 'As in the documentation: "native" is this API', required=True),
    Field("state", "word",
          '"idle": no client has needed it yet; "down": its process ended, and the next one starts '
          "after a pause or when a client needs it",
          required=True, words=("up", "starting", "down", "idle")),
    Field("restarts", "number",
          "How often its process had to be started again since the daemon began", required=True),
))

DRAINING = Struct("draining", "Whether new sessions are taken, and how many there are.", (
    Field("draining", "flag", "Whether new sessions are refused", required=True),
    Field("sessions", "number", "Sessions that are left", required=True),
))

TEMPLATE = {"$ref": "#/components/schemas/Template"}

REQUESTS = Struct("requests_left", "What the quota requests allows just now.", (
    Field("limit", "number", "Calls in a second, and at once", required=True),
    Field("left", "number", "Calls that could be made now", required=True),
    Field("reset_ms", "number", "Until all of them could be, if none were made", required=True),
))

STRUCTS = (DIALECT, DRAINING, REQUESTS)

CALLS = (
    Call("health", "GET", "health", "Whether it serves", "It does", None,
         gives=Struct("health", "That the daemon serves.", (
             Field("status", "word", required=True, words=("ok",)),
             Field("version", "text", "Of the daemon", required=True),
         ), schema="Health")),
    Call("ready", "GET", "ready", "Whether it would take a new session", "It would", None,
         gives=(
             Field("status", "word", required=True, words=("ready",)),
             Field("dialects", "many", "The protocols that it serves, each in a process of its own",
                   required=True, of=DIALECT),
         ), errors=(503,)),
    Call("metrics", "GET", "/metrics", "Numbers for Prometheus", "Text format 0.0.4", "admin",
         gives=(Field("text", "text", "Lines of NAME{LABELS} VALUE", place="whole",
                      required=True),),
         media="text/plain; version=0.0.4; charset=utf-8", errors=(404,)),
    Call("openapi", "GET", "openapi.json", "This document", "It", None,
         gives=(Field("document", "json", place="whole", required=True,
                      schema={"type": "object"}),), local=True),
    Call("key_check", "", "", "Whether the key is good, before a body is read", "It is", "any",
         gives=(Field("requests", "one", "None: the tenant has no such quota", of=REQUESTS),
                Field("mcp_approve", "flag", "Of the key", required=True)),
         is_part=True),
    Call("drain", "POST", "drain", "Take no new sessions", "What is left", "admin",
         gives=DRAINING),
    Call("undrain", "DELETE", "drain", "Take new sessions again", "What is there", "admin",
         gives=DRAINING),
    Call("template_list", "GET", "templates", "Templates that are built", "They", "read",
         gives=(Field("templates", "json", "By name", required=True,
                      schema={"type": "array", "items": TEMPLATE}),),
         operation="listTemplates"),
    Call("template_show", "GET", "templates/{template}", "One template", "It", "read",
         takes=(Field("template", "id", "Its name", place="path", required=True, most=63),),
         gives=(Field("shown", "json", place="whole", required=True, schema=TEMPLATE),),
         errors=(404,), operation="showTemplate"),
)
