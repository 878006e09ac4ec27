package mcp

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt teaches a model something when a user asks for it.
type prompt struct {
	name, title, about string
	arguments          []argument
}

type argument struct {
	name, about string
	required    bool
}

// tornoPrompts belong to our own tools. The text of each is prompts/NAME.md. There {{ARGUMENT}} stands for the user's
// argument.
var tornoPrompts = []prompt{
	{name: "delegating", title: "How to delegate", about: "Teaches when and how to delegate to subagents"},
	{
		name: "split", title: "Split a task among subagents", about: "Splits a task into parts and has subagents do them in parallel",
		arguments: []argument{{"task", "the whole task", true}},
	},
	{
		name: "second-opinion", title: "Ask for a second opinion", about: "Lets a subagent review work without knowing your opinion",
		arguments: []argument{{"subject", "what to look at", true}},
	},
}

//go:embed prompts/*.md
var promptTexts embed.FS

func (s *Server) addPrompts() {
	for _, p := range s.set.prompts {
		offered := &sdk.Prompt{Name: p.name, Title: p.title, Description: p.about}
		for _, a := range p.arguments {
			offered.Arguments = append(offered.Arguments, &sdk.PromptArgument{Name: a.name, Description: a.about, Required: a.required})
		}
		s.protocol.AddPrompt(offered, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return p.fill(r.Params.Arguments)
		})
	}
}

func (p prompt) fill(given map[string]string) (*sdk.GetPromptResult, error) {
	text, err := promptTexts.ReadFile("prompts/" + p.name + ".md")
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, a := range p.arguments {
		if a.required && strings.TrimSpace(given[a.name]) == "" {
			return nil, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the prompt %s needs the argument %s: %s", p.name, a.name, a.about),
			}
		}
		pairs = append(pairs, "{{"+a.name+"}}", given[a.name])
	}
	filled := strings.NewReplacer(pairs...).Replace(string(text))
	return &sdk.GetPromptResult{
		Description: p.about, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: filled}}},
	}, nil
}
