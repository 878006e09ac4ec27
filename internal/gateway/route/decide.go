package route

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Decide turns a child's request into the request that leaves, or into a *Refusal.
func (r *Route) Decide(q Request) (Exchange, error) {
	path, err := splitPath(q.Path)
	if err != nil {
		return Exchange{}, bad(CodePath, "%s", err.Error())
	}
	rule, over, err := r.find(q.Method, path)
	if err != nil {
		return Exchange{}, err
	}
	e := Exchange{Method: q.Method, API: r.API, longPriced: q.LongPriced}
	query, err := judgeQuery(q.RawQuery, rule.query, r.Upstream.RawQuery)
	if err != nil {
		return Exchange{}, bad(CodeQuery, "%s", err.Error())
	}
	if e.Header, err = r.judgeHeader(q.Header); err != nil {
		return Exchange{}, err
	}
	path, e.over = path[len(path)-len(over):], over
	if err := r.judgeBody(q, path, over, &e); err != nil {
		return Exchange{}, err
	}
	r.judgeBetas(&e)
	e.Dropped = told(e.Dropped)
	e.URL = r.url(path, over, query)
	return e, nil
}

// find returns the rule for a path and method, and the rule's glob for each segment. It removes the route's prefix
// first.
func (r *Route) find(method string, path []string) (Rule, []glob, error) {
	for part := range strings.SplitSeq(strings.Trim(r.Prefix, "/"), "/") {
		if part == "" {
			break
		}
		if len(path) < 2 || path[0] != part {
			return Rule{}, nil, r.noPath()
		}
		path = path[1:]
	}
	known := false
	for _, rule := range r.Allow {
		over := rule.pattern.match(path)
		if over != nil && slices.Contains(rule.methods, method) {
			return rule, over, nil
		}
		known = known || over != nil
	}
	if known {
		return Rule{}, nil, refuse(http.StatusMethodNotAllowed, CodeMethod, "the route %s does not take this method here", r.Name)
	}
	return Rule{}, nil, r.noPath()
}

// noPath does not quote the path, because that is the child's own text. The status depends on the client. A client of a
// registry accepts a 403 as the answer, but after a 404 it tries another place. A client of a model takes a 404 to mean
// that the upstream does not offer this.
func (r *Route) noPath() error {
	status := http.StatusNotFound
	if r.API == Plain {
		status = http.StatusForbidden
	}
	return refuse(status, CodePath, "the route %s does not lead there", r.Name)
}

// url joins the upstream and the path. It encodes each segment anew.
func (r *Route) url(path []string, over []glob, query string) *url.URL {
	decoded, encoded := strings.TrimSuffix(r.Upstream.Path, "/"), strings.TrimSuffix(r.Upstream.EscapedPath(), "/")
	for i, segment := range path {
		decoded += "/" + segment
		encoded += "/" + over[i].encode(segment)
	}
	return &url.URL{Scheme: r.Upstream.Scheme, Host: r.Upstream.Host, Path: decoded, RawPath: encoded, RawQuery: query}
}

// encode writes a segment that fits. It keeps the pattern's own text. In a captured name it encodes almost everything
// but letters and digits.
func (g glob) encode(segment string) string {
	if g.wild != model && g.wild != named {
		return escape(segment, plainInSegment)
	}
	middle, _ := g.middle(segment)
	return escape(g.before, plainInSegment) + escape(middle, plainInName) + escape(g.after, plainInSegment)
}
