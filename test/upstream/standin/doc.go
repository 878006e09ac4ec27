// Package standin is an upstream that needs no key and no network: it speaks as the Messages API of Anthropic and as the
// Responses and Chat APIs of OpenAI do, plain and in events, and does what the last message of the user tells it to.
//
//	hello                answers "You said: hello"
//	#tool NAME {JSON}    calls a tool; when its result comes back, answers with that. NAME may be SPACE/NAME in the Responses API
//	#custom NAME TEXT    the same for a tool that takes a text, in the Responses API
//	#steps               and then lines, each one of these: does the first, when its tool's result comes back the next, and so on
//	#answers             and then lines: answers with the first as it is, to the user's next message with the second, and so on
//	#think TEXT          tells a thought before it answers as to TEXT; in events, and not in the Chat API
//	#status 429 3        answers with a status, and retry-after
//	#once 429 1 hello    the same for the first request that says so; then answers the rest
//	#cut and others      see lies: what an upstream does that lies, breaks or stalls
//
// To a request whose tool_choice is none it says WithoutTools, whatever the message is.
//
// It says the same usage of every answer, so that what was spent can be foretold.
package standin
