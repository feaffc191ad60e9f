"""OpenAI's Agents SDK against Reckon: its CodeInterpreterTool beside a function of the application's."""
import asyncio

from agents import Agent, CodeInterpreterTool, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"12 degrees in {city}"


agent = Agent(name="Analyst", model="gpt-9", instructions="Use code.", tools=[
    CodeInterpreterTool(tool_config={"type": "code_interpreter", "container": {"type": "auto"}}), get_weather])


async def main():
    result = await Runner.run(agent, "Calculate.")
    assert any(getattr(item.raw_item, "type", "") == "code_interpreter_call" for item in result.new_items), result
    print("whole", result.final_output)
    result = Runner.run_streamed(agent, "How is the weather?")
    kinds = [event.name async for event in result.stream_events() if event.type == "run_item_stream_event"]
    assert "tool_called" in kinds and "tool_output" in kinds, kinds
    print("stream", result.final_output)


asyncio.run(main())
