package inside

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OpenNetwork gives the loopback device, in a namespace of a weak container's own, the addresses that the prober tries to
// reach, and listens there: a network in which nothing holds a child back. It lasts as long as the listeners are held.
func OpenNetwork() (held []net.Listener, err error) {
	for _, device := range []string{"all", "lo"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+device+"/disable_ipv6", []byte("0"), 0); err != nil {
			return nil, err
		}
	}
	for _, address := range []string{internet4, internet6, metadata4, metadata6} {
		if err := addAddress(address); err != nil {
			return held, fmt.Errorf("add %s: %w", address, err)
		}
		for _, port := range []string{"53", "80"} {
			at := net.JoinHostPort(address, port)
			listener, err := net.Listen("tcp", at)
			if err == nil {
				held = append(held, listener)
				err = reachable(at)
			}
			if err != nil {
				return held, err
			}
		}
	}
	return held, nil
}

// reachable waits for an address: the kernel gives it its route a moment later.
func reachable(at string) (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(3 * time.Millisecond) {
		if err = dial("tcp", at); err == nil {
			return nil
		}
	}
	return fmt.Errorf("nobody reaches %s: %w", at, err)
}

// addAddress gives the loopback device another address.
func addAddress(text string) error {
	address := net.ParseIP(text)
	family, bytes := byte(unix.AF_INET6), []byte(address.To16())
	if short := address.To4(); short != nil {
		family, bytes = unix.AF_INET, short
	}
	const loopback, newAddress = 1, unix.RTM_NEWADDR
	body := []byte{family, byte(8 * len(bytes)), unix.IFA_F_NODAD, 0, loopback, 0, 0, 0}
	for _, attribute := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		body = binary.NativeEndian.AppendUint16(body, uint16(4+len(bytes)))
		body = binary.NativeEndian.AppendUint16(body, attribute)
		body = append(body, bytes...)
	}
	return askKernel(newAddress, body)
}

// askKernel sends one request to route netlink and waits for its acknowledgement.
func askKernel(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	message := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	message = append(append(message, make([]byte, 8)...), body...)
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < unix.NLMSG_HDRLEN+4 {
		return fmt.Errorf("netlink answered with %d bytes: %w", n, err)
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}
