"""Ports on which programs of a session listen."""
from .common import IN_SESSION, SESSION
from .model import Call, Field, Struct

TAG = ("Ports", "What programs of a session serve on TCP ports: see docs/ports.md")

PORT = Struct("port", "A port on which something listens.", (
    Field("port", "number", "Its number", required=True),
    Field("address", "text", "To which it is bound", required=True, example="127.0.0.1"),
    Field("reachable", "flag", "It is bound to loopback, or to all addresses", required=True),
), schema="Port")

PORTS = Struct("ports", "Ports on which something listens.", (
    Field("ports", "many", "By number; at most 256", required=True, of=PORT),
), schema="PortList")

CONNECTED = Struct("port_connected", "A connection to a port: a socket comes along.", ())

STRUCTS = (PORT, PORTS, CONNECTED)

NUMBER = Field("port", "number", "From 1 to 65535", place="internal", required=True, least=1,
               most=65535)
OF_SESSION = Field("session", "id", "Id of a session, se_…", place="internal", required=True)

CALLS = (
    Call("port_list", "GET", "sessions/{session}/ports", "Ports on which something listens",
         "All of them", "read", needs_box=True, takes=(SESSION,), gives=PORTS, errors=IN_SESSION,
         operation="listPorts"),
    Call("port_connect", "", "", "Connect to a port", "Connected", "execute",
         needs_box=True, takes=(OF_SESSION, NUMBER), gives=CONNECTED, gives_file=True),
    Call("port_link_connect", "", "", "The same with the token of a link", "Connected", None,
         takes=(OF_SESSION, NUMBER,
                Field("token", "text", "Of the link", place="internal", required=True, most=95)),
         gives=CONNECTED, gives_file=True),
)
