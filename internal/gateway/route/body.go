package route

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// judgeBody reads the body of a request for a model, and finds the model, in the path or in the body. It passes the
// body of a plain route unchanged.
func (r *Route) judgeBody(q Request, path []string, over []glob, e *Exchange) error {
	if r.MaxBody > 0 && int64(len(q.Body)) > r.MaxBody {
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the body is larger than %d bytes", r.MaxBody)
	}
	carries := q.Method == http.MethodPost || q.Method == http.MethodPut || q.Method == http.MethodPatch
	if !carries && len(q.Body) > 0 {
		return bad(CodeBody, "a %s has no body", q.Method)
	}
	if !carries {
		e.Header.Del("Content-Type")
		e.Header.Del("Content-Encoding")
	}
	if err := r.judgePathModel(path, over, e); err != nil || !carries {
		return err
	}
	if r.API == Plain {
		e.Body = q.Body
		return nil
	}
	if err := judgeCoding(q.Header, e.Header); err != nil {
		return err
	}
	body, err := parseDocument(q.Body)
	if err != nil {
		return bad(CodeBody, "%s", err.Error())
	}
	return r.judgeDocument(body, over, e)
}

// judgeCoding makes sure that the upstream reads the same body as we do: uncompressed, and declared as JSON.
func judgeCoding(from, to http.Header) error {
	for name, values := range from {
		if strings.EqualFold(name, "Content-Encoding") && strings.ToLower(strings.Join(values, ",")) != "identity" {
			return refuse(http.StatusUnsupportedMediaType, CodeBody, "the body is compressed; send it as it is")
		}
	}
	kind, parameters, _ := strings.Cut(strings.ToLower(to.Get("Content-Type")), ";")
	parameters = strings.ReplaceAll(strings.TrimSpace(parameters), `"`, "")
	if strings.TrimSpace(kind) != "application/json" || parameters != "" && parameters != "charset=utf-8" {
		return refuse(http.StatusUnsupportedMediaType, CodeBody, "the body is not declared as application/json")
	}
	to.Set("Content-Type", "application/json")
	return nil
}

// judgePathModel checks a model that the path names, and replaces it with the upstream's name.
func (r *Route) judgePathModel(path []string, over []glob, e *Exchange) error {
	at := slices.IndexFunc(over, func(g glob) bool { return g.wild == model })
	if at < 0 {
		return nil
	}
	name, _ := over[at].middle(path[at])
	upstream, err := r.model(name)
	if err != nil {
		return err
	}
	path[at] = over[at].before + upstream + over[at].after
	e.Model, e.Stream = upstream, strings.Contains(strings.ToLower(over[at].after), "stream")
	if last := over[len(over)-1]; last.wild == none {
		e.Stream = e.Stream || strings.Contains(last.before, "stream")
	}
	return nil
}

// judgeDocument reads the parts of a body that matter, and writes the body anew if something changes.
func (r *Route) judgeDocument(body object, over []glob, e *Exchange) error {
	change, err := r.judgeModel(body, over, e)
	if err != nil {
		return err
	}
	if err := r.judgeOutput(body, over, e); err != nil {
		return bad(CodeBody, "%s", err.Error())
	}
	if change, err = r.judgeReach(body, over, e, change); err != nil {
		return err
	}
	if change, err = r.askUsage(body, e, change); err != nil {
		return bad(CodeBody, "%s", err.Error())
	}
	e.Body = change.apply(body)
	return nil
}

// askUsage makes a stream of openai-chat end with its usage. Without that, the whole reservation would count.
func (r *Route) askUsage(body object, e *Exchange, change edits) (edits, error) {
	if !r.AskUsage || !e.Stream || r.API != OpenAIChat {
		return change, nil
	}
	options, err := body.getObject("stream_options")
	if err != nil {
		return nil, err
	}
	asked := edits{{"include_usage", []byte("true")}}.apply(options)
	return append(change, edit{"stream_options", asked}), nil
}

// judgeModel finds and checks the body's model. It refuses a body that names a model beside the path's.
func (r *Route) judgeModel(body object, over []glob, e *Exchange) (edits, error) {
	if slices.ContainsFunc(over, func(g glob) bool { return g.wild == model }) {
		if body.find("model") != nil {
			return nil, bad(CodeModel, "the path names the model, and so does the body")
		}
		return nil, nil
	}
	name, err := body.getString("model")
	if err == nil {
		err = body.spelled("model")
	}
	if err != nil {
		return nil, bad(CodeBody, "%s", err.Error())
	}
	if name == "" {
		return nil, bad(CodeModel, "the body names no model")
	}
	if e.Model, err = r.model(name); err != nil {
		return nil, err
	}
	if e.Stream, err = body.getBool("stream"); err != nil {
		return nil, bad(CodeBody, "%s", err.Error())
	}
	if string(body.get("model")) == string(quote(e.Model)) {
		return nil, nil
	}
	return edits{{"model", quote(e.Model)}}, nil
}

func quote(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // every text can be written
	}
	return quoted
}
