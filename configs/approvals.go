package configs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"torno/internal/agent"
	"torno/internal/approval"
	"torno/sandbox/compile"
)

// approvals is a profile's policy for the questions that its agent asks before it calls a tool. If the profile has no
// such key, the policy is nil and the agent asks nothing.
type approvals struct{ to **approval.Policy }

func (v approvals) read(r *report, key string, n *yaml.Node) {
	*v.to = &approval.Policy{}
	v.keys().read(r, key, n)
	for _, list := range []string{"allow", "deny"} {
		if r.given(key+"."+list) && len(v.rules(list)) == 0 {
			r.problem(key+"."+list, "is an empty list; write at least one rule, or leave it out")
		}
	}
}

func (v approvals) rules(list string) []approval.Rule {
	if list == "allow" {
		return (*v.to).Allow
	}
	return (*v.to).Deny
}

func (v approvals) write() *yaml.Node {
	if *v.to == nil {
		return nil
	}
	return v.keys().write()
}

// maxRules is how many rules each list of a policy may have. It is bounded because each question is compared with all
// of them.
const maxRules = 256

const ruleHint = "; write a list of {tool, argument, exact, words, under}"

func (v approvals) keys() object {
	p := *v.to
	return object{
		{"allow", list[approval.Rule]{&p.Allow, maxRules, ruleSchema, ruleHint}},
		{"deny", list[approval.Rule]{&p.Deny, maxRules, ruleSchema, ruleHint}},
		{"otherwise", oneOf(&p.Otherwise, approval.Forward, approval.Refuse)},
		{"decided_by", list[approval.Decider]{&p.DecidedBy, 2, func(d *approval.Decider) value {
			return oneOf(d, approval.ByParent, approval.ByOperator)
		}, "; write a list of parent, operator"}},
		{"expires", span{&p.Expires, 5 * time.Second, 24 * time.Hour}},
		{"pause", span{&p.Pause, time.Second, 24 * time.Hour}},
		{"time_box", span{&p.TimeBox, time.Minute, 4 * time.Hour}},
		{"rates", object{
			{"calls_per_minute", number[int]{&p.Rates.CallsPerMinute, 10, 300}},
			{"calls", number[int]{&p.Rates.Calls, 100, 10_000}},
			{"shell_per_minute", number[int]{&p.Rates.ShellPerMinute, 5, 60}},
			{"writes_per_minute", number[int]{&p.Rates.WritesPerMinute, 10, 100}},
		}},
	}
}

func ruleSchema(rule *approval.Rule) value {
	return object{
		{"tool", text{&rule.Tool, 256}},
		{"argument", onlyIf{text{&rule.Argument, 256}, rule.Argument != ""}},
		{"exact", onlyIf{argument{&rule.Exact}, rule.Exact != ""}},
		{"words", list[string]{&rule.Words, 64, func(s *string) value { return text{s, 4096} }, "; write a list of words, such as [go, test, ...]"}},
		{"under", onlyIf{text{&rule.Under, 4096}, rule.Under != ""}},
	}
}

// completeApprovals fills in the defaults of a policy.
func completeApprovals(p *compile.Profile) {
	a := p.Approvals
	if a == nil {
		return
	}
	a.Otherwise = cmp.Or(a.Otherwise, approval.Forward)
	if len(a.DecidedBy) == 0 {
		a.DecidedBy = []approval.Decider{approval.ByParent, approval.ByOperator}
	}
	a.Expires, a.Pause = cmp.Or(a.Expires, 5*time.Minute), cmp.Or(a.Pause, 30*time.Minute)
	a.TimeBox = cmp.Or(a.TimeBox, time.Hour)
	a.Rates = approval.Rates{
		CallsPerMinute: cmp.Or(a.Rates.CallsPerMinute, 60), Calls: cmp.Or(a.Rates.Calls, 1000),
		ShellPerMinute: cmp.Or(a.Rates.ShellPerMinute, 20), WritesPerMinute: cmp.Or(a.Rates.WritesPerMinute, 30),
	}
}

// checkApprovals reports a policy whose agent never asks, and rules that cannot work as written.
func checkApprovals(r *report, p *compile.Profile) {
	key := "profiles." + p.Name + ".approvals"
	if p.Approvals == nil {
		return
	}
	if p.Agent == "" {
		r.problem(key, "without an agent nothing asks for approval, and the children of this profile would do everything without approval; write agent:, or leave approvals out")
	}
	if known := agent.Find(p.Agent); known != nil && !known.Asks {
		r.problem(key, "%s cannot ask before it calls a tool, and its children would do everything without approval; leave approvals out", p.Agent)
	}
	if slices.ContainsFunc(p.Command, func(word string) bool { return asksNothing(word) }) {
		r.problem(key, "the profile's command tells the agent to ask for nothing; remove that from command")
	}
	checkRules(r, key+".allow", p.Approvals.Allow)
	checkRules(r, key+".deny", p.Approvals.Deny)
	if by := p.Approvals.DecidedBy; len(by) == 2 && by[0] == by[1] {
		r.problem(key+".decided_by[1]", "%s is here twice", by[1])
	}
}

func checkRules(r *report, key string, rules []approval.Rule) {
	for i, rule := range rules {
		if err := rule.Check(); err != nil {
			r.problem(fmt.Sprintf("%s[%d]", key, i), "%v", err)
		}
	}
}

// asksNothing reports whether a word of the command makes the agent ask for nothing, or ask another program.
func asksNothing(word string) bool {
	for _, flag := range []string{
		"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--permission-mode", "--permission-prompt-tool", "--permission-prompts",
		"--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto", "--ask-for-approval", "-a",
	} {
		if word == flag || len(word) > len(flag) && word[:len(flag)+1] == flag+"=" {
			return word != flag+"=default" && word != flag+"=acceptEdits"
		}
	}
	return false
}
