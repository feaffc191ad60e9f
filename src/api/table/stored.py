"""Files of a tenant: stored outside its sessions, and copied into them."""
from .common import PATH_MAX, RANGE, SESSION, moment
from .documents import FILTER, LABELS, NAME_MAX
from .files import DOWNLOAD, FILE_PUT, SIZE, TICKET, UPLOAD
from .model import Call, Field, Struct

TAG = ("Tenant files", "Files that are kept for all sessions of a tenant")

FILE = Field("file", "id", "Id of a tenant's file, file_…", place="path", required=True)
PURPOSE = Field("purpose", "text", "What it is for: the entry `purpose` of its metadata",
                place="query", least=1, most=64, form="line")

STORED = Struct("stored_file", "A file of the tenant.", (
    Field("id", "text", "file_…", required=True),
    Field("name", "text", "As it was given", required=True),
    Field("bytes", "number", "Of its content", required=True),
    Field("media_type", "text", "As it was given, or guessed", required=True),
    Field("sha256", "text", "Of its content", required=True),
    Field("artifact", "text", "Its content in the store", required=True),
    moment("created_at", "When it was stored", required=True),
    Field("expires_at", "time", "When it is removed; null: never", nullable=True),
    Field("metadata", "json", "Strings to list files by", required=True, schema=LABELS),
), schema="StoredFile")

STORED_LIST = Struct("stored_files", "A page of files.", (
    Field("files", "many", "In the order that was asked for", required=True, of=STORED),
    Field("next", "text", "Where the page after this one begins: for `before` when the newest come "
          "first, else for `after`; null: this is the last page", nullable=True),
), schema="StoredFileList")

IMPORT = Struct("import", "A file of the tenant, and where it is in the session.", (
    Field("file", "id", "file_…", required=True),
    Field("path", "text", "In the workspace, or below /mnt/files; the file's name when left out",
          least=1, most=PATH_MAX),
    Field("mount", "flag", "No copy: it is below /mnt/files, read-only, as long as the session is, "
          "and takes nothing of its limits", default=False),
), schema="FileImport")
IMPORTS = Field("files", "many", "Files of the tenant that are copied into the workspace, or mounted, "
                "before this is answered; the key needs the scope `files` too", of=IMPORT, most=32)

STRUCTS = (STORED, STORED_LIST, IMPORT)

CALLS = (
    Call("stored_list", "GET", "files", "Files of the tenant", "A page", "read",
         takes=(FILTER, PURPOSE,
                Field("order", "word", "By creation: the newest first, or the oldest", place="query",
                      words=("desc", "asc"), default="desc"),
                Field("limit", "number", "At most so many files", place="query", least=1, most=500,
                      default=100),
                Field("before", "id", "Files older than the one of this id", place="query",
                      most=NAME_MAX),
                Field("after", "id", "Files newer than the one of this id", place="query",
                      most=NAME_MAX)),
         gives=STORED_LIST, errors=(404,), operation="listTenantFiles"),
    Call("stored_create", "POST", "files", "Store a file of at most 512 MiB; the body is its content",
         "Stored", "files",
         grows=True,
         takes=(SIZE,
                Field("name", "text", "Its name, without a folder", place="query", required=True,
                      least=1, most=255, form="line", schema={"type": "string", "minLength": 1}),
                PURPOSE,
                Field("media_type", "text", "Guessed when left out", place="query", least=1, most=95,
                      form="line"),
                Field("metadata", "text", "Strings to list files by, a JSON object as of documents",
                      place="query", least=1, most=4096, schema={"type": "string", "minLength": 1}),
                Field("expires_in_s", "number", "Removed so many seconds from now", place="query",
                      least=1, most=10 * 366 * 86400)),
         gives=UPLOAD, gives_file=True, status=201, commits="stored_commit", errors=(413, 507),
         operation="createTenantFile"),
    Call("stored_show", "GET", "files/{file}", "Show a file of the tenant", "What is known of it",
         "read", takes=(FILE,), gives=STORED, errors=(404,), operation="showTenantFile"),
    Call("stored_get", "GET", "files/{file}/content", "Read a file of the tenant", "Its bytes", "read",
         takes=(FILE, RANGE,
                Field("If-None-Match", "text", "304 when it is still this ETag", place="http")),
         gives=DOWNLOAD, gives_file=True, errors=(404, 410, 412, 416), operation="getTenantFile"),
    Call("stored_delete", "DELETE", "files/{file}", "Remove a file of the tenant", "Removed", "files",
         takes=(FILE,), errors=(404, 507), operation="deleteTenantFile"),
    Call("stored_copy", "POST", "sessions/{session}/files/copy",
         "Copy a file of the tenant into the workspace", "Copied", "files",
         grows=True,
         needs_box=True, takes=(SESSION, Field("file", "id", "file_…", required=True),
                Field("path", "text", "In the workspace; the file's name when left out", least=1,
                      most=PATH_MAX)),
         gives=FILE_PUT, errors=(404, 410, 413, 507), operation="copyTenantFile", body="FileCopy"),
    Call("stored_commit", "", "", "Keep a file that was written", "Stored", None,
         takes=(TICKET,), gives=STORED, status=201, is_part=True),
)
