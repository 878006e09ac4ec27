// Package usage reads what an answer says of its own tokens while the answer passes by.
//
// A Meter is an io.Writer beside the relay: each piece of the answer's body is written into it, in whatever pieces they
// come, and Usage is asked when the answer has ended:
//
//	meter := usage.NewMeter("anthropic", answer.Header.Get("Content-Type"))
//	io.Copy(io.MultiWriter(client, meter), answer.Body)
//	tokens, ok := meter.Usage()
//
// ok says that the answer told its final usage, whole and believable. Without it the caller counts what it reserved.
//
// # What is promised
//
//   - Never less than was used. An answer that was cut has no usage, although its first event named some tokens. An event
//     that cannot be read, a number that is negative, broken, not a number or above 2^40 takes all belief from the
//     answer. Where an answer says a number twice, the higher one counts; where its total is above the sum of its parts,
//     the rest is output.
//   - Only the API's own field counts. The scanner knows where in the document it is, so a model that writes "usage" into
//     its text or into the arguments of a tool (a child may ask it to) changes nothing.
//   - Memory is constant. The scanner holds a short key or number and where it is, never a line: the last event of the
//     Responses API holds the whole answer. Deeper than maxDepth it gives up, and then nothing is believed.
//   - Pieces do not matter. An answer split at any byte is the same answer.
//
// # What is read
//
//	API               whole JSON (application/json)      stream
//	anthropic         usage                              message_start and message_delta, complete with message_stop
//	openai-responses  usage                              response.completed, .incomplete, .failed
//	openai-chat       usage                              the last usage of a chunk, complete with [DONE]
//	google            usageMetadata                      the last usageMetadata, complete with a finishReason; both
//	                                                     forms of a stream, events and one JSON array
//	bedrock           usage of Converse and of a         metadata of ConverseStream; the Anthropic events inside of
//	                  Claude model                       InvokeModelWithResponseStream (application/vnd.amazon.eventstream)
//
// Every other API and content type has no usage, nor has an answer that is compressed: ask for none that is.
//
// # What is not read
//
// Charges beside tokens, as for each search of the upstream. A route should not allow such tools where money
// is limited.
package usage
