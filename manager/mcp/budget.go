package mcp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"torno/delegation"
	"torno/manager"
)

// Budgets limit the requests of a parent. They keep an honest model from running away. Against a dishonest model only
// the watcher's limits and the budgets of its gateway hold.
type Budgets struct {
	PerCall  int     // tasks in one delegate; 16 by default
	Children int     // children that run or wait at a time in this outbox; 32 by default
	Depth    int     // how deep in a tree of agents this parent itself is
	MaxDepth int     // agents this deep may not delegate; 1 by default, so our children may not
	Money    float64 // how much children may spend on their models; 0 means no limit
	Tokens   int64   // the same in tokens of input and output; 0 means no limit
	Parent   string  // the subagent for whose run the children are, or a word for the host's records
}

// budgets counts the use of the Budgets.
type budgets struct {
	Budgets
	parent string

	entering sync.Mutex // only one delegate at a time counts the children and adds to them

	mu      sync.Mutex
	counted map[string]bool // requests whose spending is counted
	order   []string        // the keys of counted, the oldest first
	money   float64
	tokens  int64
}

func newBudgets(b Budgets) budgets {
	b.PerCall, b.Children, b.MaxDepth = cmp.Or(b.PerCall, 16), cmp.Or(b.Children, 32), cmp.Or(b.MaxDepth, 1)
	return budgets{Budgets: b, parent: b.Parent, counted: map[string]bool{}}
}

// budgetNow shows what remains of the budgets. Each answer of delegate and status contains it.
type budgetNow struct {
	PerCall   int    `json:"tasks_per_call"`
	Children  int    `json:"children"` // children that run or wait
	Most      int    `json:"children_at_most"`
	DepthLeft int    `json:"depth_left"`
	Tokens    int64  `json:"tokens_spent,omitempty"`
	TokensMax int64  `json:"tokens_at_most,omitempty"`
	Money     string `json:"money_spent,omitempty"`
	MoneyMax  string `json:"money_at_most,omitempty"`
	Warning   string `json:"warning,omitempty"` // the budgets that are nearly used up
}

func (n budgetNow) say() string {
	said := fmt.Sprintf("budget: %d of at most %d subagents are at work", n.Children, n.Most)
	if n.TokensMax > 0 || n.Tokens > 0 {
		said += "; tokens spent: " + outOf(strconv.FormatInt(n.Tokens, 10), n.TokensMax > 0, strconv.FormatInt(n.TokensMax, 10))
	}
	if n.MoneyMax != "" || n.Money != "" {
		said += "; money spent: " + outOf(cmp.Or(n.Money, "0"), n.MoneyMax != "", n.MoneyMax)
	}
	if n.Warning != "" {
		said += "\nwarning: " + n.Warning
	}
	return said + "\n"
}

func outOf(spent string, limited bool, most string) string {
	if !limited {
		return spent
	}
	return spent + " of " + most
}

// enter fails unless the budgets allow that many more children. Until leave is called, no other call can ask for
// children.
func (b *budgets) enter(ctx context.Context, s *Server, more int) (now budgetNow, leave func(), err error) {
	if more > b.PerCall {
		return now, nil, spent("tasks", fmt.Sprintf("%d tasks in one call are too many: at most %d are allowed", more, b.PerCall), "delegate them in several calls")
	}
	if b.Depth >= b.MaxDepth {
		return now, nil, spent("", fmt.Sprintf("this agent is a subagent itself, at depth %d, and may not delegate: agents from depth %d on do the work themselves", b.Depth, b.MaxDepth), "do the task yourself")
	}
	b.entering.Lock()
	now, err = b.now(ctx, s)
	switch {
	case err != nil:
	case now.Children+more > b.Children:
		err = spent("tasks", fmt.Sprintf("%d subagents are at work, and %d more are too many: at most %d may work at the same time", now.Children, more, b.Children),
			"wait for some of them to end, or cancel some, and delegate again")
	case b.Tokens > 0 && now.Tokens >= b.Tokens:
		err = spent("", fmt.Sprintf("the budget of this parent is used up: its subagents spent %d tokens of %d", now.Tokens, b.Tokens), "finish with the results that you have, or ask the user for a larger budget")
	case b.Money > 0 && b.spentMoney() >= b.Money:
		err = spent("", fmt.Sprintf("the budget of this parent is used up: its subagents spent %s of %s", now.Money, now.MoneyMax), "finish with the results that you have, or ask the user for a larger budget")
	}
	if err != nil {
		b.entering.Unlock()
		return now, nil, err
	}
	return now, b.entering.Unlock, nil
}

func spent(field, text, next string) error {
	return &mistake{code: "budget", field: field, text: text, next: next}
}

// now counts the children at work and the money and tokens spent.
func (b *budgets) now(ctx context.Context, s *Server) (budgetNow, error) {
	list, err := s.list(ctx)
	if err != nil {
		return budgetNow{}, err
	}
	return b.of(list.Items), nil
}

// of does the same as now for a listing that the caller already has.
func (b *budgets) of(items []manager.Item) budgetNow {
	n := budgetNow{PerCall: b.PerCall, Most: b.Children, DepthLeft: max(0, b.MaxDepth-b.Depth)}
	for i := range items {
		if items[i].State == delegation.StateEnded {
			b.count(items[i].RequestID, items[i].Usage)
			continue
		}
		n.Children++
	}
	return b.warn(n)
}

// warn adds the spending, and a warning of budgets that are nearly used up.
func (b *budgets) warn(n budgetNow) budgetNow {
	b.mu.Lock()
	defer b.mu.Unlock()
	n.Tokens, n.TokensMax = b.tokens, b.Tokens
	if b.money > 0 {
		n.Money = amount(b.money)
	}
	if b.Money > 0 {
		n.MoneyMax = amount(b.Money)
	}
	n.Warning = b.warning(n)
	return n
}

// amount formats money for people. It rounds away the errors that adding has left behind the millionth.
func amount(money float64) string { return strconv.FormatFloat(math.Round(money*1e6)/1e6, 'f', -1, 64) }

// warning names the budgets that are nearly used up.
func (b *budgets) warning(n budgetNow) string {
	var all []string
	if 5*n.Children >= 4*n.Most {
		all = append(all, fmt.Sprintf("%d more subagents may be at work at the same time", max(0, n.Most-n.Children)))
	}
	if b.Tokens > 0 && 5*b.tokens >= 4*b.Tokens {
		all = append(all, fmt.Sprintf("%d tokens are left", max(0, b.Tokens-b.tokens)))
	}
	if b.Money > 0 && 5*b.money >= 4*b.Money {
		all = append(all, amount(max(0, b.Money-b.money))+" of money is left")
	}
	return strings.Join(all, "; ")
}

// maxCounted bounds how many counted requests are remembered. It is many more than a listing has.
const maxCounted = 10 * manager.MaxItems

// count adds the spending of a run, once.
func (b *budgets) count(request string, usage *delegation.Usage) {
	if usage == nil || usage.Model == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counted[request] {
		return
	}
	b.counted[request], b.order = true, append(b.order, request)
	if len(b.order) > maxCounted {
		delete(b.counted, b.order[0])
		b.order = b.order[1:]
	}
	b.tokens += max(0, usage.Model.InputTokens) + max(0, usage.Model.OutputTokens)
	if money, err := strconv.ParseFloat(usage.Model.Money, 64); err == nil && money > 0 && money < 1e12 {
		b.money += money
	}
}

func (b *budgets) spentMoney() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.money
}

// ParseMoney reads an amount such as "2.50". "" means no limit.
func ParseMoney(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	money, err := strconv.ParseFloat(text, 64)
	if err != nil || !(money > 0 && money < 1e12) {
		return 0, fmt.Errorf("%.50q is not an amount such as 2.50", text)
	}
	return money, nil
}
