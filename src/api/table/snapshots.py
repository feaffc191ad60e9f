"""Snapshots: copies of a session's files, from which new sessions can begin."""
from .common import BEFORE_ROW, LIMIT, NEXT, SESSION, moment
from .model import Call, Field, Struct
from .sessions import LIMITS, NOT_KEPT, POLICY

TAG = ("Snapshots", "Files of sessions as they were, from which new sessions begin")

SNAPSHOT = Field("snapshot", "id", "Id of a snapshot, sn_…", place="path", required=True)
NAME = Field("name", "text", "Not of one alone: the newest of a name stands first in lists", least=1,
             most=128, form="line")

HELD = Field("held", "flag", "It is removed when the client of this request goes away, at a CANCEL of "
             "this call, and when the daemon starts", place="internal")

SNAPSHOT_STRUCT = Struct("snapshot", "A snapshot.", (
    Field("id", "text", "sn_…", required=True),
    Field("name", "text", "As it was given", nullable=True),
    Field("session", "text", "Of which it was made, which may be gone", required=True),
    moment("created_at", "When it was made", required=True),
    Field("memory", "flag", "false: variables and processes are not in it", required=True),
    Field("template", "text", "Of sessions that begin with it", required=True),
    Field("language", "text", "Of their first kernel", required=True),
    Field("limits", "one", required=True, of=LIMITS),
    Field("policy", "one", required=True, of=POLICY),
    Field("files", "number", "Regular files in it", required=True),
    Field("bytes", "number", "That they hold", required=True),
    Field("files_not_kept", "one", "Names of the workspace that are not in it", of=NOT_KEPT),
), schema="Snapshot")

SNAPSHOTS = Struct("snapshots", "A page of snapshots.", (
    Field("snapshots", "many", "Newest first", required=True, of=SNAPSHOT_STRUCT),
    NEXT,
), schema="SnapshotList")

STRUCTS = (SNAPSHOT_STRUCT, SNAPSHOTS)

CALLS = (
    Call("snapshot_create", "POST", "sessions/{session}/snapshots",
         "Keep the files of a session as they are", "Made", "sessions", grows=True,
         description="What executes or waits in its first kernel is waited for. Its template, "
         "language, environment, limits and policy are kept with them; its memory is not.",
         takes=(SESSION, NAME, HELD), gives=SNAPSHOT_STRUCT, status=201,
         errors=(404, 409, 410, 413, 507),
         operation="createSnapshot", body="SnapshotCreate"),
    Call("snapshot_list", "GET", "snapshots", "Snapshots of the tenant, newest first", "A page",
         "read", takes=(
             LIMIT, BEFORE_ROW,
             Field("session", "id", "Those that were made of this session", place="query", most=63),
             Field("name", "text", "Those of this name", place="query", least=1, most=128,
                   form="line"),
         ), gives=SNAPSHOTS, errors=(404, 410), operation="listSnapshots"),
    Call("snapshot_show", "GET", "snapshots/{snapshot}", "Show a snapshot", "The snapshot", "read",
         takes=(SNAPSHOT,), gives=SNAPSHOT_STRUCT, errors=(404,), operation="showSnapshot"),
    Call("snapshot_delete", "DELETE", "snapshots/{snapshot}", "Remove a snapshot", "Removed",
         "sessions", description="Sessions that began with it keep what they have.",
         takes=(SNAPSHOT,), errors=(404, 507), operation="deleteSnapshot"),
)
