// Package peek looks at a connection without reading from it.
package peek

import (
	"net"
	"syscall"
)

// Closed says whether the peer has closed the connection, or sent something, while nobody read from it. False if that cannot be seen.
func Closed(connection net.Conn) bool { return look(connection, false) }

// Gone says whether the peer has closed the connection. What it sent before it closed hides that.
func Gone(connection net.Conn) bool { return look(connection, true) }

func look(connection net.Conn, dataIsFine bool) bool {
	system, ok := connection.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	// Control and not Read, because Read would wait for another reader.
	if err := raw.Control(func(descriptor uintptr) { closed = ended(descriptor, dataIsFine) }); err != nil {
		return true
	}
	return closed
}
