package standin

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
)

// lies are the ways in which the upstream lies, breaks or stalls, by the word that asks for each.
var lies = map[string]func(a *answer){
	// A stream that breaks off in the middle.
	"#cut": func(a *answer) {
		a.event("message_start", object{"type": "message_start", "message": messageOf(a, nil, 1)})
		panic(http.ErrAbortHandler)
	},
	// A redirect to another place, which must not learn the key.
	"#redirect": func(a *answer) {
		http.Redirect(a.w, a.r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
	},
	// A length that is more than what comes.
	"#short": func(a *answer) {
		a.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"half\":")
	},
	// Two lengths.
	"#twolengths": func(a *answer) { a.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x") },
	// A head without end.
	"#head": func(a *answer) {
		a.raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 1000) + "\r\n{}")
	},
	// No HTTP at all.
	"#garbage": func(a *answer) { a.raw("SSH-2.0-OpenSSH_9.2\r\n") },
	// Another protocol.
	"#upgrade": func(a *answer) {
		a.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
	},
	// A second answer after the first, for the request of another child.
	"#two": func(a *answer) {
		a.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
	},
	// A small answer that unpacks to a big one.
	"#bomb": func(a *answer) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(bytes.Repeat([]byte(" "), 10<<20))
		z.Close()
		a.w.Header().Set("Content-Encoding", "gzip")
		a.w.Write(packed.Bytes())
	},
	// The credential, wherever an answer has place for it.
	"#echo": func(a *answer) {
		key := keyOf(a.r.Header)
		a.w.Header().Set("X-Echo", key)
		a.w.Header().Set("Set-Cookie", "key="+key)
		if a.asked.Stream {
			a.api.stream(a, key[:len(key)/2], key[len(key)/2:], "in one piece "+key)
			return
		}
		writeJSON(a.w, http.StatusOK, a.api.whole(a, "your key is "+key))
	},
	// An answer that is an error, with the status of a good one.
	"#error200": func(a *answer) { a.fail(http.StatusOK, "overloaded_error", "try later") },
	// Usage that no model can have.
	"#negative": func(a *answer) {
		m := messageOf(a, "end_turn", 0, object{"type": "text", "text": "free"})
		m["usage"] = object{"input_tokens": -1_000_000, "output_tokens": -1}
		writeJSON(a.w, http.StatusOK, m)
	},
	// A stream that never ends.
	"#endless": func(a *answer) {
		for {
			a.event("ping", object{"type": "ping", "padding": strings.Repeat("p", 8<<10)})
		}
	},
	// Nothing, not even a head, until the other side goes.
	"#silent": func(a *answer) {
		<-a.r.Context().Done()
		a.tellGone()
	},
}

// raw takes the connection over and says anything.
func (a *answer) raw(text string) {
	conn, _, err := http.NewResponseController(a.w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(text))
}

// raw is JSON as it is, or nothing.
func raw(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}
