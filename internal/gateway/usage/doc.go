// Package usage reads an answer's own token counts while the answer passes by.
//
// A Meter is an io.Writer beside the relay. The relay writes each piece of the answer's body into it, of whatever size,
// and asks for Usage when the answer has ended:
//
//	meter := usage.NewMeter("anthropic", answer.Header.Get("Content-Type"))
//	io.Copy(io.MultiWriter(client, meter), answer.Body)
//	tokens, ok := meter.Usage()
//
// ok means that the answer told its final usage, and that it is complete and believable. Without ok the caller counts
// the reservation.
//
// # What is promised
//
//   - The result is never less than the real usage. A cut answer has no usage, although its first event named some
//     tokens. An answer is not believed if an event cannot be read, or if a number is negative, broken, not a number or
//     above 2^40. If an answer tells a number twice, the higher one counts. If its total is above the sum of its parts,
//     the rest is output.
//   - Only the API's own field counts. The scanner knows its place in the document. So nothing changes if a model
//     writes "usage" into its text or into a tool's arguments, even if a child asks it to.
//   - Memory is constant. The scanner holds a short key or number and its place, never a line, because the last event
//     of the Responses API holds the whole answer. Deeper than maxDepth it gives up, and then the answer is not
//     believed.
//   - Pieces do not matter: an answer that is split at any byte gives the same result.
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
// Other APIs and content types have no usage. Nor has a compressed answer, so ask the upstream for an uncompressed one.
//
// # What is not read
//
// Charges beside tokens, for example a price for each search of the upstream. If money is limited, a route should not
// allow such tools.
package usage
