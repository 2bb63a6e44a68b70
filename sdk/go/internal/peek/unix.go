//go:build unix

package peek

import (
	"errors"
	"syscall"
)

func ended(descriptor uintptr, dataIsFine bool) bool {
	var first [1]byte
	for {
		n, _, err := syscall.Recvfrom(int(descriptor), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil || n == 0:
			return true
		default:
			return !dataIsFine
		}
	}
}
