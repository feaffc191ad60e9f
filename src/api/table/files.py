"""Files of a workspace, archives, and artifacts that outlive the workspace."""
from .common import (BEFORE_ROW, LIMIT, NEXT, PATH_MAX, RANGE, SESSION, moment, path)
from .model import Call, Field, Struct

TAG = ("Files", "The workspace of a session, and what is kept of its files")
IN_SESSION = (404, 410)
PATH_TEXT = {"least": 1, "most": PATH_MAX}
ETAGS = {"place": "header", "least": 1, "most": 1024}
FOLDER = Field("path", "text", "A folder of the workspace; all of it when left out", place="query",
               schema={"type": "string", "minLength": 1}, **PATH_TEXT)
SIZE = Field("size", "number", "Of the body; left out: not known", place="internal")
TICKET = Field("ticket", "number", "Of the upload", place="internal", required=True)

COUNTS = Struct("archive_counts", "What is in an archive that was written.", (
    Field("files", "number", "Files", required=True),
    Field("folders", "number", "Folders", required=True),
    Field("links", "number", "Links", required=True),
    Field("skipped", "number", "What cannot be in one", required=True),
    Field("changed", "number", "What changed meanwhile", required=True),
))

DOWNLOAD = Struct("download", "What is known of a file; a descriptor of it comes along.", (
    Field("size", "number", "Bytes", required=True),
    Field("mime", "text", "Its type"),
    Field("etag", "text", "Names this state of it, without quotes"),
    Field("modified", "time", "When it was changed"),
    Field("name", "text", "What to call it, where the path does not say it", most=255),
    Field("counts", "one", "Of an archive", of=COUNTS),
))

UPLOAD = Struct("upload", "Where to write; a descriptor comes along.", (
    Field("size_max", "number", "At most so many bytes", required=True),
    Field("ticket", "number", "For the call that takes what was written, or CANCEL",
          required=True),
))

FILE_PUT = Struct("file_put", "A file that was written.", (
    Field("path", "text", "Where", required=True),
    Field("size", "number", "Bytes", required=True),
    Field("mime", "text", "Its type", nullable=True),
    Field("etag", "text", "null: it changed a moment ago", nullable=True),
    Field("sha256", "text", "Of its content", nullable=True),
    Field("artifact", "text", "null: larger than what is kept", nullable=True),
), schema="FilePut")

ARCHIVE_PUT = Struct("archive_put", "An archive that was unpacked.", (
    Field("files", "number", "Files", required=True),
    Field("folders", "number", "Folders", required=True),
    Field("links", "number", "Links", required=True),
    Field("bytes", "number", "Of all files", required=True),
    Field("replaced", "number", "Files that were there before", required=True),
    Field("renamed", "number", "Names that were no text", required=True),
    Field("artifact", "text", "The archive as it came", nullable=True),
), schema="ArchivePut")

VERSION = Struct("version", "A content that is kept.", (
    Field("artifact", "text", "ar_…", required=True),
    Field("path", "text", "Where it was", nullable=True),
    Field("size", "number", "Bytes", required=True),
    Field("mime", "text", "Its type", nullable=True),
    Field("sha256", "text", "Of its content", nullable=True),
    Field("source", "text", "What it came of", required=True,
          schema={"enum": ["execution", "process", "upload", "archive", "replaced"]}),
    Field("execution", "text", "That wrote it", nullable=True),
    moment("created_at", "When it was noted", required=True),
), schema="Version")

ARTIFACTS = Struct("artifacts", "A page of what is kept of a session's files.", (
    Field("artifacts", "many", "Newest first", required=True, of=VERSION),
    NEXT,
), schema="ArtifactList")

VERSIONS = Struct("versions", "A page of what a file was.", (
    Field("versions", "many", "Newest first", required=True, of=VERSION),
    NEXT,
), schema="VersionList")

RECEIPT = Struct("receipt", "What an execution cost.", (
    Field("execution", "text", "ex_…", required=True),
    Field("status", "text", "The record's", required=True),
    moment("created_at", "When it was asked for", required=True),
    Field("receipt", "json", "As in the record", nullable=True,
          schema={"$ref": "#/components/schemas/RecordReceipt"}),
), schema="Receipt")

RECEIPTS = Struct("receipts", "A page of what executions cost.", (
    Field("receipts", "many", "Newest first", required=True, of=RECEIPT),
    NEXT,
), schema="ReceiptList")

HANDLE = {"most": 40}
PART = (
    Field("offset", "number", "From this byte", place="query"),
    Field("length", "number", "So many bytes; 0: the rest", place="query", default=0),
    Field("Range", "text", "One byte range, without offset and length", place="http"),
)

STRUCTS = (COUNTS, DOWNLOAD, UPLOAD, FILE_PUT, ARCHIVE_PUT, VERSION, ARTIFACTS, VERSIONS, RECEIPT,
           RECEIPTS)

CALLS = (
    Call("file_list", "GET", "sessions/{session}/files", "Files of the workspace", "A page",
         "files",
         needs_box=True, takes=(SESSION, FOLDER,
                Field("recursive", "flag", "0: what is right in the folder, with its folders; else "
                      "files alone, of all folders below", place="query", default=True),
                Field("details", "flag", "1: with recursive=0, links too, and of each entry its "
                      "`mode`, `target` and `attributes`", place="query", default=False),
                Field("name", "text", "With recursive=0: this entry of the folder alone",
                      place="query", schema={"type": "string", "minLength": 1}, **PATH_TEXT),
                Field("limit", "number", "At most so many entries; 0: all", place="query",
                      most=1000000, default=0),
                Field("cursor", "text", "`next` of the page before", place="query",
                      schema={"type": "string", "minLength": 1}, **PATH_TEXT)),
         gives=(Field("files", "json", place="whole", required=True,
                      schema={"$ref": "#/components/schemas/FileList"}),),
         errors=IN_SESSION, operation="listFiles"),
    Call("file_move", "POST", "sessions/{session}/files/move", "Move or rename a file or folder",
         "Moved", "files",
         needs_box=True, takes=(SESSION, Field("from", "text", "Its path", required=True, **PATH_TEXT),
                Field("to", "text", "Its new path", required=True, **PATH_TEXT),
                Field("overwrite", "flag", "Replace a file that is there", default=False)),
         gives=(Field("path", "text", "Where it is now", required=True),
                Field("replaced", "text", "Artifact of the file that was replaced",
                      nullable=True)),
         errors=(404, 409, 410, 507), operation="moveFile", body="FileMove"),
    Call("file_mkdir", "POST", "sessions/{session}/files/mkdir", "Make a folder and its parents",
         "It is there", "files",
         needs_box=True, takes=(SESSION, Field("path", "text", "Relative to the workspace", required=True,
                               **PATH_TEXT)),
         errors=(404, 410, 507), operation="makeFolder", body="FolderMake"),
    Call("file_get", "GET", "sessions/{session}/files/{path}",
         "Read a file; HEAD gives its head alone", "Its bytes", "files",
         needs_box=True, takes=(SESSION, path("Relative to the workspace; may hold slashes"), RANGE,
                Field("If-None-Match", "text", "304 when it is still this ETag", place="http"),
                Field("If-Match", "text", "412 when it is another", place="http"),
                Field("If-Range", "text", "The range only of this ETag", place="http")),
         gives=DOWNLOAD, gives_file=True, errors=(404, 410, 412, 416), operation="getFile"),
    Call("file_put", "PUT", "sessions/{session}/files/{path}", "Write a file of any size",
         "Written", "files",
         grows=True, needs_box=True, takes=(SESSION, path("Relative to the workspace; folders are made"), SIZE,
                Field("If-Match", "text", "Only when this ETag is there", **ETAGS),
                Field("If-None-Match", "text", "`*`: only when there is no such file", **ETAGS)),
         gives=UPLOAD, gives_file=True, commits="file_commit", errors=(404, 410, 412, 413, 507),
         operation="putFile"),
    Call("file_delete", "DELETE", "sessions/{session}/files/{path}", "Remove a file or folder",
         "Removed", "files",
         needs_box=True, takes=(SESSION, path("Relative to the workspace"),
                Field("recursive", "flag", "1: a folder with all it holds", place="query",
                      default=False),
                Field("If-Match", "text", "Only when this ETag is there", **ETAGS)),
         gives=(Field("deleted", "number", "Files and folders", required=True),),
         errors=(404, 410, 412, 507), operation="deleteFile"),
    Call("archive_get", "GET", "sessions/{session}/archive", "A folder as an archive",
         "The archive", "files",
         needs_box=True, takes=(SESSION, FOLDER,
                Field("format", "word", "Of the archive", place="query",
                      words=("tar", "tar.gz", "tar.zst", "zip"), default="tar.gz"), RANGE),
         gives=DOWNLOAD, gives_file=True, errors=(404, 410, 413, 416), operation="getArchive",
         file_media=("application/octet-stream", "application/x-tar", "application/gzip",
                     "application/zstd", "application/zip")),
    Call("archive_put", "PUT", "sessions/{session}/archive",
         "Unpack a tar (.gz, .xz, .zst, .bz2) or zip archive into a folder", "Unpacked", "files",
         grows=True, needs_box=True, takes=(SESSION, FOLDER, SIZE),
         gives=UPLOAD, gives_file=True, commits="archive_commit", errors=(404, 410, 413, 507),
         operation="putArchive"),
    Call("version_list", "GET", "sessions/{session}/versions/{path}",
         "What a file was, newest first; also when its session is gone", "A page", "read",
         takes=(SESSION, path("Relative to the workspace; may hold slashes"), LIMIT, BEFORE_ROW),
         gives=VERSIONS, errors=IN_SESSION, operation="listVersions"),
    Call("artifact_list", "GET", "sessions/{session}/artifacts",
         "What is kept of the files of a session, newest first", "A page", "read",
         takes=(SESSION, LIMIT, BEFORE_ROW), gives=ARTIFACTS, errors=IN_SESSION,
         operation="listArtifacts"),
    Call("artifact_delete", "DELETE", "sessions/{session}/artifacts/{artifact}",
         "Forget a content of a session's files, under all its names; also when the session is gone",
         "Forgotten", "files",
         description="It is in no list of the session any more. Its bytes leave the store when no "
         "record, link, workspace or other session names them.",
         takes=(SESSION, Field("artifact", "id", "ar_…", place="path", required=True, **HANDLE)),
         errors=(404, 410, 507), operation="deleteArtifact"),
    Call("receipt_list", "GET", "sessions/{session}/receipts",
         "What each execution cost, newest first", "A page", "read",
         takes=(SESSION, LIMIT, BEFORE_ROW), gives=RECEIPTS, errors=IN_SESSION,
         operation="listReceipts"),
    Call("output_get", "GET", "outputs/{handle}",
         "The whole of output that was cut; also when its session is gone", "Its bytes", "read",
         takes=(Field("handle", "id", "Its id, from a record", place="path", required=True,
                      **HANDLE), *PART),
         gives=DOWNLOAD, gives_file=True, errors=(404, 410, 416), operation="getOutput"),
    Call("artifact_get", "GET", "artifacts/{artifact}",
         "A file that an execution left; also when its session is gone", "Its bytes", "read",
         takes=(Field("artifact", "id", "Its id, from a record", place="path", required=True,
                      **HANDLE), *PART),
         gives=DOWNLOAD, gives_file=True, errors=(404, 410, 416), operation="getArtifact"),
    Call("file_commit", "", "", "Take a file that was written", "Written", None,
         takes=(TICKET,), gives=FILE_PUT, is_part=True),
    Call("archive_commit", "", "", "Unpack an archive that was written", "Unpacked", None,
         takes=(TICKET,), gives=ARCHIVE_PUT, is_part=True),
)
