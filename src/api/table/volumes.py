"""Volumes: folders of a tenant that outlive sessions and can be mounted in several at once."""
from .common import PATH_MAX, RANGE, moment, path
from .files import DOWNLOAD, SIZE, TICKET, UPLOAD
from .model import Call, Field, Struct

TAG = ("Volumes", "Folders of a tenant that outlive sessions and are mounted in several at once")
NAME_MAX = 63
MODE = {"most": 0o777}

VOLUME = Field("volume", "id", "Id of a volume, vol_…, or its name", place="path", required=True,
               most=NAME_MAX)
NAME = Field("name", "text", "Letters, digits, '_', '.' and '-'; of one volume of the tenant",
             required=True, least=1, most=NAME_MAX,
             schema={"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"})
WHERE = Field("path", "text", "Relative to the volume; the volume itself when left out",
              place="query", least=1, most=PATH_MAX, schema={"type": "string", "minLength": 1})
MODE_OF_NEW = Field("mode", "number", "Permission bits of what is made", place="query", **MODE)
PARENTS = Field("parents", "flag", "0: the folder that it is in must be there", place="query",
                default=True)

VOLUME_STRUCT = Struct("volume", "A volume.", (
    Field("id", "text", "vol_…", required=True),
    Field("name", "text", "Of one volume of the tenant", required=True),
    moment("created_at", "When it was made", required=True),
    Field("bytes", "number", "That its content takes on the disk, as last measured; left out: it "
          "was not measured yet"),
    Field("entries", "number", "Files and folders, as last measured"),
    Field("limit_bytes", "number", "That it may take", required=True),
    Field("sessions", "number", "Live sessions that have it mounted", required=True),
), schema="Volume")

VOLUMES = Struct("volumes", "The volumes of a tenant.", (
    Field("volumes", "many", "The oldest first", required=True, of=VOLUME_STRUCT),
), schema="VolumeList")

ENTRY = Struct("volume_entry", "A file or folder of a volume.", (
    Field("path", "text", "Relative to the volume; empty: the volume itself", required=True),
    Field("kind", "word", "What it is", required=True, words=("file", "folder", "link", "other")),
    Field("bytes", "number", "Of a file", required=True),
    Field("mode", "number", "Permission bits", required=True),
    Field("accessed_at", "time", "When it was read", required=True),
    Field("modified_at", "time", "When its content was changed", required=True),
    Field("changed_at", "time", "When anything of it was changed", required=True),
    Field("target", "text", "Of a link: its text, which nothing here follows"),
), schema="VolumeEntry")

ENTRIES = Struct("volume_entries", "Entries of a folder.", (
    Field("entries", "many", "Each folder before what is in it, by name", required=True, of=ENTRY),
    Field("complete", "flag", "false: there are more than 10,000", required=True),
), schema="VolumeEntries")

VOLUME_MOUNT = Struct("volume_mount", "A volume of the tenant, and where the session has it.", (
    Field("volume", "id", "vol_…, or the volume's name", required=True, most=NAME_MAX),
    Field("path", "text", "Below /mnt; /mnt/NAME when left out", least=6, most=200, form="path"),
    Field("read_only", "flag", "The session cannot write to it", default=False),
), schema="VolumeMount")
MOUNTS = Field("volumes", "many", "Volumes of the tenant that are mounted; the key needs the scope "
               "`files` too", of=VOLUME_MOUNT, most=4)

MOUNTED = Struct("mounted_volume", "A volume that a live session has.", (
    Field("id", "text", "vol_…", required=True),
    Field("name", "text", "Of the volume", required=True),
    Field("path", "text", "Where the code sees it", required=True),
    Field("read_only", "flag", "The session cannot write to it", required=True),
), schema="MountedVolume")

STRUCTS = (VOLUME_STRUCT, VOLUMES, ENTRY, ENTRIES, VOLUME_MOUNT, MOUNTED)

CALLS = (
    Call("volume_list", "GET", "volumes", "Volumes of the tenant", "All of them", "read",
         gives=VOLUMES, operation="listVolumes"),
    Call("volume_create", "POST", "volumes", "Make a volume", "Made", "files", grows=True,
         takes=(NAME,), gives=VOLUME_STRUCT, status=201, errors=(409, 413, 507),
         operation="createVolume", body="VolumeCreate"),
    Call("volume_show", "GET", "volumes/{volume}", "Show a volume", "The volume", "read",
         takes=(VOLUME,), gives=VOLUME_STRUCT, errors=(404,), operation="showVolume"),
    Call("volume_delete", "DELETE", "volumes/{volume}", "Remove a volume with all that is in it",
         "Removed", "files", description="409 while a live or paused session has it mounted.",
         takes=(VOLUME,), errors=(404, 409, 507), operation="deleteVolume"),
    Call("volume_token", "GET", "volumes/{volume}/token", "A token for this volume alone",
         "The token, always the same one", "files",
         description="It goes where a key goes, may read and write this volume as the key that "
         "asked may, nothing anywhere else, and ends with the volume, or with that key.",
         takes=(VOLUME,), gives=(Field("token", "text", "vt_…", required=True),), errors=(404,),
         operation="volumeToken"),
    Call("volume_entries", "GET", "volumes/{volume}/entries", "What is in a folder of a volume",
         "Its entries", "files",
         takes=(VOLUME, WHERE,
                Field("depth", "number", "Of folders, 1: what is right in it", place="query",
                      least=1, most=64, default=1)),
         gives=ENTRIES, errors=(404,), operation="listVolumeEntries"),
    Call("volume_stat", "GET", "volumes/{volume}/stat", "What is known of a file or folder",
         "The entry", "files", takes=(VOLUME, WHERE), gives=ENTRY, errors=(404,),
         operation="statVolumeEntry"),
    Call("volume_mkdir", "POST", "volumes/{volume}/mkdir", "Make a folder", "It is there", "files",
         grows=True,
         takes=(VOLUME, Field("path", "text", "Relative to the volume", required=True, least=1,
                              most=PATH_MAX),
                Field("parents", "flag", "Make the folders above it as well; one that is there is "
                      "fine then, else it is 409", default=True),
                Field("mode", "number", "Permission bits of what is made", **MODE)),
         gives=ENTRY, status=201, errors=(404, 409, 413, 507), operation="makeVolumeFolder",
         body="VolumeFolderMake"),
    Call("volume_change", "PATCH", "volumes/{volume}/files/{path}",
         "Change the permissions of a file or folder", "The entry", "files",
         takes=(VOLUME, path("Relative to the volume; may hold slashes"),
                Field("mode", "number", "Permission bits", required=True, **MODE)),
         gives=ENTRY, errors=(404,), operation="changeVolumeEntry", body="VolumeEntryPatch"),
    Call("volume_remove", "DELETE", "volumes/{volume}/files/{path}",
         "Remove a file, a link or a folder with all that is in it", "Removed", "files",
         takes=(VOLUME, path("Relative to the volume; may hold slashes")),
         errors=(404, 507), operation="deleteVolumeEntry"),
    Call("volume_get", "GET", "volumes/{volume}/files/{path}", "Read a file of a volume",
         "Its bytes", "files",
         takes=(VOLUME, path("Relative to the volume; may hold slashes"), RANGE),
         gives=DOWNLOAD, gives_file=True, errors=(404, 416), operation="getVolumeFile"),
    Call("volume_put", "PUT", "volumes/{volume}/files/{path}", "Write a file of a volume",
         "Written", "files", grows=True,
         takes=(VOLUME, path("Relative to the volume; may hold slashes"), SIZE, MODE_OF_NEW,
                PARENTS),
         gives=UPLOAD, gives_file=True, status=201, commits="volume_commit", errors=(404, 413, 507),
         operation="putVolumeFile"),
    Call("volume_commit", "", "", "Keep a file that was written", "Written", None,
         takes=(TICKET,), gives=ENTRY, status=201, is_part=True),
)
