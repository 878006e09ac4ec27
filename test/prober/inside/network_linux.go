package inside

import (
	"net"
	"os"
	"strings"
)

func lookAtNetwork(r *Report) (err error) {
	r.Up, err = interfacesUp()
	r.Routes = append(routes("/proc/net/route", 0), routes("/proc/net/ipv6_route", 9)...)
	r.Nameservers = nameservers()
	return err
}

func interfacesUp() (up []string, err error) {
	interfaces, err := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			up = append(up, i.Name)
		}
	}
	return up, err
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
