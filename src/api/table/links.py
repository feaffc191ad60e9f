"""Links that give access to files and ports without a key."""
from .common import BEFORE_ROW, LIMIT, NEXT, PATH_MAX, SESSION, moment, path
from .files import DOWNLOAD
from .model import Call, Field, Struct

TAG = ("Links", "Links to files and ports, for whoever has no key")

LINK_STRUCT = Struct("link", "A link, without its token.", (
    Field("id", "text", "lk_…", required=True),
    Field("name", "text", "Of the file; of a port its number", required=True),
    Field("expires_at", "time", "When it ends", required=True),
    Field("path", "text", "A file of the workspace", nullable=True),
    Field("artifact", "text", "A content that is kept", nullable=True),
    moment("created_at", "When it was made", required=True),
    Field("downloads", "number", "So far", required=True),
    Field("max_downloads", "number", "How many there may be"),
), schema="Link")

LINKS = Struct("links", "A page of links.", (
    Field("links", "many", "Newest first", required=True, of=LINK_STRUCT),
    NEXT,
), schema="LinkList")

CREATED = Struct("link_created", "A new link.", (
    Field("id", "text", "lk_…", required=True),
    Field("name", "text", "Of the file", required=True),
    Field("expires_at", "time", "When it ends", required=True),
    Field("url", "text", "Not shown again", required=True),
), schema="LinkCreated")

STRUCTS = (LINK_STRUCT, LINKS, CREATED)

CALLS = (
    Call("link_list", "GET", "sessions/{session}/links",
         "Links of a session, without their tokens", "A page", "read",
         takes=(SESSION, LIMIT, BEFORE_ROW), gives=LINKS, errors=(404, 410), operation="listLinks"),
    Call("link_create", "POST", "sessions/{session}/links", "A link to a file, or a port, that needs no key",
         "Made", "files",
         grows=True, takes=(SESSION,
                Field("path", "text", "A file of the workspace, as it is when the link is followed",
                      least=1, most=PATH_MAX, excludes=("artifact",)),
                Field("artifact", "text", "Instead of a path", least=1, most=40),
                Field("port", "number", "Instead of a path: what a program serves on this port",
                      least=1, most=65535, excludes=("path", "artifact", "max_downloads")),
                Field("expires_in_s", "number", "Ends so many seconds from now", least=1,
                      most=366 * 86400, default=3600),
                Field("max_downloads", "number", "Ends with so many; any number when left out",
                      least=1, most=1000000000)),
         gives=CREATED, status=201, errors=(404, 410, 507), operation="createLink",
         body="LinkCreate"),
    Call("link_delete", "DELETE", "sessions/{session}/links/{link}", "Revoke a link", "Revoked",
         "files",
         takes=(SESSION, Field("link", "id", "Its id, lk_…", place="path", required=True)),
         errors=(404, 410, 507), operation="deleteLink"),
    Call("link_get", "GET", "links/{token}/{path}", "Download what a link leads to", "Its bytes",
         None,
         takes=(Field("token", "id", "From the link's url", place="path", required=True, most=95),
                path("A name for whoever reads the url"),
                Field("head_only", "flag", "Nothing is downloaded", place="internal"),
                Field("Range", "text", "One byte range; each request counts as a download",
                      place="http"),
                Field("If-None-Match", "text", "304 when it is still this ETag", place="http")),
         gives=DOWNLOAD, gives_file=True, errors=(403, 404, 408, 410, 412, 416, 429, 500, 503),
         operation="followLink"),
)
