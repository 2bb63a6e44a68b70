package web

import "net/netip"

// subjects gives the default subject of a client's address, and the whole address. An IPv6 address stands for its /64.
func subjects(text string) (subject, whole string) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return "ip:unknown", "" // such as a Unix socket's
		}
		address = withPort.Addr()
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return "ip:" + address.String(), address.String()
	}
	network, _ := address.Prefix(64) // an IPv6 address has one
	return "ip:" + network.String(), address.String()
}
