package inside

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func lookAtNetwork(reach []string) func(*Report) error {
	return func(r *Report) error {
		interfaces, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, i := range interfaces {
			if i.Flags&net.FlagUp != 0 {
				r.Up = append(r.Up, i.Name)
			}
		}
		r.Routes = append(routes("/proc/net/route", 0), routes("/proc/net/ipv6_route", 9)...)
		r.Nameservers = nameservers()
		r.Reach = make(map[string]Outcome)
		for _, target := range reach {
			network, address, _ := strings.Cut(target, " ")
			r.Reach[target] = connect(network, address)
		}
		r.Loopback = loopback()
		r.Families = families()
		return nil
	}
}

// routes are the lines of a table of the kernel that do not lead to the loopback device, which is in a given column.
func routes(table string, column int) (found []string) {
	content, _ := os.ReadFile(table) // without IPv6 there is no table
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) > column && fields[0] != "Iface" && fields[column] != "lo" {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func nameservers() (found []string) {
	for _, word := range firstFields("/etc/resolv.conf", "\n") {
		if strings.HasPrefix(word, "nameserver") {
			found = append(found, word)
		}
	}
	return found
}

// patience is how long a packet that goes nowhere is waited for. In a sandbox none leaves.
const patience = 2 * time.Second

func connect(network, address string) Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return outcome(err)
	}
	return outcome(conn.Close())
}

func loopback() Outcome {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return outcome(err)
	}
	defer listener.Close()
	return connect("tcp", listener.Addr().String())
}

// families opens sockets that nothing in a sandbox needs.
func families() map[string]Outcome {
	found := make(map[string]Outcome)
	for name, try := range map[string][3]int{
		"AF_VSOCK":     {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"AF_ALG":       {unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		"AF_PACKET":    {unix.AF_PACKET, unix.SOCK_RAW, 0},
		"AF_KEY":       {unix.AF_KEY, unix.SOCK_RAW, 2},
		"AF_BLUETOOTH": {unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
		"AF_TIPC":      {unix.AF_TIPC, unix.SOCK_STREAM, 0},
		"AF_XDP":       {unix.AF_XDP, unix.SOCK_RAW, 0},
		"raw AF_INET":  {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
	} {
		fd, err := unix.Socket(try[0], try[1]|unix.SOCK_CLOEXEC, try[2])
		if err == nil {
			err = unix.Close(fd)
		}
		found[name] = outcome(err)
	}
	return found
}
