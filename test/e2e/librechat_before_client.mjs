// The code tools of the generation of @librechat/agents before, unmodified: an API key, files by the session_id that a model passes.
//
//   node librechat_before_client.mjs PACKAGE BASE KEY CALL...
//
// Each CALL is {lang, code, args?, user_id?, entity_id?, after?}: `after` is the call whose session it goes on with. Or,
// with tools that the code may call, {code, tools: [NAME], after?}.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [place, base, key, ...calls] = process.argv.slice(2);
process.env.LIBRECHAT_CODE_BASEURL = base;
process.env.LIBRECHAT_CODE_API_KEY = key;
const tools = path.join(place, "node_modules/@librechat/agents/dist/esm/tools");
const load = (name) => import(pathToFileURL(path.join(tools, name + ".mjs")));
const { createCodeExecutionTool } = await load("CodeExecutor");
const { createProgrammaticToolCallingTool } = await load("ProgrammaticToolCalling");

const answers = [];
for (const text of calls) {
  const { after, tools, user_id, entity_id, ...args } = JSON.parse(text);
  if (after !== undefined) args.session_id = answers[after].artifact.session_id;
  try {
    if (tools) {
      const [content, artifact] = await createProgrammaticToolCallingTool().func(args, undefined, { toolCall: {
        toolMap: new Map(tools.map((name) => [name, {
          name, schema: { type: "object" }, constructor: { name: "Tool" },
          invoke: async (input) => ({ tool: name, input }),
        }])),
        toolDefs: tools.map((name) => ({ name, description: "", parameters: { type: "object" } })),
      } });
      answers.push({ content, artifact });
    } else {
      const message = await createCodeExecutionTool({ user_id, entity_id }).invoke(
        { name: "execute_code", type: "tool_call", id: "1", args });
      answers.push({ content: message.content, artifact: message.artifact });
    }
  } catch (error) {
    answers.push({ error: error.message });
  }
}
console.log(JSON.stringify(answers));
