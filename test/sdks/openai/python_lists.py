"""Lists, page by page, as OpenAI's SDK for Python turns them: what each gave, as one line."""
import openai

client = openai.OpenAI()
files = [client.files.create(file=(f"{number}.txt", b"x"), purpose=("assistants", "user_data")[number % 2])
         for number in range(5)]
names = {file.id: file.filename[0] for file in files}


def say(name, ids):
    print(name, "".join(ids))


def of_files(**query):
    return [names[file.id] for file in client.files.list(**query)]


say("files", of_files())
say("pages", of_files(limit=2))
say("ascending", of_files(limit=2, order="asc"))
say("purpose", of_files(limit=1, purpose="assistants"))
say("after", of_files(limit=1, after=files[2].id))
containers = [client.containers.create(name=str(number)) for number in range(5)]
for query in ({}, {"limit": 2}, {"limit": 2, "order": "asc"}, {"after": containers[2].id, "order": "asc"}):
    say("-".join(["containers", *map(str, query)]), [each.name for each in client.containers.list(**query)])
own = containers[0].id
for number in range(5):
    client.containers.files.create(container_id=own, file=(f"{number}.txt", b"x"))
for query in ({}, {"limit": 2}, {"limit": 2, "order": "asc"}):
    say("-".join(["inside", *map(str, query)]),
        [each.path[-5] for each in client.containers.files.list(own, **query)])
