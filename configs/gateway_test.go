package configs

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"torno/internal/gateway/setup"
	"torno/sandbox"
)

const withGateway = `version: 1
state: /var/lib/torno
gateway:
  routes:
    # a comment
    claude: {preset: anthropic, credential: {file: /etc/torno/anthropic.key}, models: {"1": claude-opus-5-5}}
    npm: {preset: npm, max_body: 1MiB}
  prices: {claude: {1: {input: 0.1, output: "25", cache_read: 2.0}, claude-3.5-*: {input: 0.0000001, output: 5}}}
profiles:
  p:
    routes: [claude, {route: npm, prefix: /npm}]
    port: 5000
    record: content
    budget: {run: {requests: 0, money: 1.50}, outbox_day: {keep_for_last: 10, input_tokens: 7}}
    env: {ANTHROPIC_BASE_URL: http://127.0.0.1:9, OTHER: "1"}
  none: {}
outboxes:
  main: {dir: /srv/box, allow: [/srv/box/workspaces], profiles: [p, none]}
`

func TestDoor(t *testing.T) {
	emptyEnvironment(t)
	c, warnings := parsed(t, withGateway)
	if len(warnings) > 0 {
		t.Errorf("warned of %v", warnings)
	}
	number := func(n int64) *int64 { return &n }
	want := &sandbox.Door{
		Routes: []sandbox.Route{{Name: "claude"}, {Name: "npm", Prefix: "/npm"}}, Port: 5000, Record: true,
		Run:       sandbox.Allowance{Requests: number(0), Money: number(1_500_000_000)},
		OutboxDay: sandbox.Allowance{InputTokens: number(7), KeepForLast: 10},
	}
	if !reflect.DeepEqual(c.Profiles[0].Door, want) || c.Profiles[1].Door != nil {
		t.Errorf("got %+v and %+v", c.Profiles[0].Door, c.Profiles[1].Door)
	}
	if door := c.Policies()[0].Profiles[0].Door; !reflect.DeepEqual(door, want) {
		t.Errorf("the policy has %+v", door)
	}
	checkRoundTrip(t, "door", c)
}

// TestSubagentsAreCountedWhereAProfileBoundsThem: whichever one it is, all doors count for it.
func TestSubagentsAreCountedWhereAProfileBoundsThem(t *testing.T) {
	emptyEnvironment(t)
	bounded := strings.Replace(withGateway, "none: {}", "bounds: {routes: [claude], budget: {subagent: {requests: 9}}}", 1)
	c, _ := parsed(t, strings.Replace(bounded, "p, none", "p, bounds", 1))
	for _, p := range c.Profiles {
		if !p.Door.CountSubagent {
			t.Errorf("%s does not count for its subagent", p.Name)
		}
	}
	if c, _ := parsed(t, withGateway); c.Profiles[0].Door.CountSubagent {
		t.Error("what no profile bounds is counted")
	}
}

// TestDoorsEnvironment: what the profile says of a variable stays, and the word in place of a key is no secret.
func TestDoorsEnvironment(t *testing.T) {
	emptyEnvironment(t)
	c, warnings := parsed(t, withGateway)
	env := c.Profiles[0].Env
	if env["ANTHROPIC_BASE_URL"] != "http://127.0.0.1:9" || env["ANTHROPIC_API_KEY"] != "torno-gateway" || env["npm_config_registry"] != "http://127.0.0.1:5000/npm/" || env["OTHER"] != "1" {
		t.Errorf("got %v", env)
	}
	if len(warnings) > 0 || c.Profiles[1].Env != nil {
		t.Errorf("warned of %v; the other profile has %v", warnings, c.Profiles[1].Env)
	}
}

// TestSetup: what the gateway is told says the same as the file, number by number and text by text.
func TestSetup(t *testing.T) {
	emptyEnvironment(t)
	c, _ := parsed(t, withGateway)
	text, err := c.Gateway.Setup()
	if err != nil {
		t.Fatal(err)
	}
	said, err := setup.Parse(text)
	if err != nil || !reflect.DeepEqual(said, c.Gateway.read) {
		t.Errorf("%v\n%s\nsays\n%+v\nand not\n%+v", err, text, said, c.Gateway.read)
	}
	if models := said.Routes[0].Models; len(models) != 1 || models[0].Name != "1" || said.Prices["claude"]["1"].CacheRead != 2_000_000_000 {
		t.Errorf("got %+v", said)
	}
	if c.GatewayState() != "/var/lib/torno/gateway" || !c.Gateway.Own() {
		t.Errorf("its state is %s", c.GatewayState())
	}
	other, _ := parsed(t, strings.Replace(withGateway[:strings.Index(withGateway, "  routes:")], "gateway:", "gateway: {state: /srv/gateway}", 1)+
		"outboxes: {main: {dir: /srv/box, allow: [/srv/box/workspaces]}}\n")
	if text, err := other.Gateway.Setup(); text != nil || err != nil || other.GatewayState() != "/srv/gateway" || other.Gateway.Own() {
		t.Errorf("got %q, %v, %s", text, err, other.GatewayState())
	}
	if !slices.Contains(other.Policies()[0].Hidden, "/srv/gateway") {
		t.Error("requests may name the gateway's directory")
	}
}
