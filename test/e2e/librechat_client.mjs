// The code tools of @librechat/agents, unmodified: what they give is what a model and LibreChat see.
//
//   node librechat_client.mjs PACKAGE BASE HEADERS CALL...
//
// Each CALL is {lang, code, args?, profile?, hint?}, or with tools that the code may call: {lang, code, tools: [NAME],
// abort?}. A tool gives its name and its arguments; one that is called "fails" fails; `abort` ends the request that
// waits after a call.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [place, base, headers, ...calls] = process.argv.slice(2);
process.env.LIBRECHAT_CODE_BASEURL = base;
const tools = path.join(place, "node_modules/@librechat/agents/dist/esm/tools");
const load = (name) => import(pathToFileURL(path.join(tools, name + ".mjs")));
const { createCodeExecutionTool } = await load("CodeExecutor");
const { createProgrammaticToolCallingTool } = await load("ProgrammaticToolCalling");
const { createBashProgrammaticToolCallingTool } = await load("BashProgrammaticToolCalling");

function toolOf(name, aborter) {
  return {
    name, schema: { type: "object" }, constructor: { name: "Tool" },
    async invoke(input) {
      if (aborter) setTimeout(() => aborter.abort(), 200);
      if (name === "fails") throw new Error("no such table");
      return { tool: name, input };
    },
  };
}

async function callTools({ lang, code, tools, abort }, headers, files) {
  const aborter = abort ? new AbortController() : undefined;
  const create = lang === "bash" ? createBashProgrammaticToolCallingTool
    : createProgrammaticToolCallingTool;
  const config = { toolCall: {
    toolMap: new Map(tools.map((name) => [name, toolOf(name, aborter)])),
    toolDefs: tools.map((name) => ({ name, description: "", parameters: { type: "object" } })),
    _injected_files: files,
  } };
  const [content, artifact] = await create({ baseUrl: base, authHeaders: headers })
    .func({ code }, undefined, { ...config, signal: aborter?.signal });
  return { content, artifact };
}

let files = [];
const answers = [];
for (const text of calls) {
  const { lang, code, args, profile, tools, hint } = JSON.parse(text);
  const tool = createCodeExecutionTool({
    authHeaders: JSON.parse(headers), executionProfile: profile,
    ...(hint && { statefulSessions: true, runtimeSessionHint: hint }),
  });
  try {
    if (tools) {
      const done = await callTools(JSON.parse(text), JSON.parse(headers), files);
      files = done.artifact?.files ?? [];
      answers.push(done);
      continue;
    }
    const message = await tool.invoke({
      name: "execute_code", type: "tool_call", id: "1", args: { lang, code, ...(args && { args }) },
      _injected_files: files,
    });
    files = message.artifact?.files ?? [];
    answers.push({ content: message.content, artifact: message.artifact });
  } catch (error) {
    answers.push({ error: error.message });
  }
}
console.log(JSON.stringify(answers));
