// The code tool of @librechat/agents, unmodified: what it prints is what a model and LibreChat see.
//
//   node librechat_client.mjs PACKAGE BASE HEADERS CALL...      each CALL is {lang, code, args?, files?, profile?}
import path from "node:path";
import { pathToFileURL } from "node:url";

const [place, base, headers, ...calls] = process.argv.slice(2);
process.env.LIBRECHAT_CODE_BASEURL = base;
const tools = path.join(place, "node_modules/@librechat/agents/dist/esm/tools/CodeExecutor.mjs");
const { createCodeExecutionTool } = await import(pathToFileURL(tools));

let files = [];
const answers = [];
for (const text of calls) {
  const { lang, code, args, profile } = JSON.parse(text);
  const tool = createCodeExecutionTool({ authHeaders: JSON.parse(headers), executionProfile: profile });
  try {
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
