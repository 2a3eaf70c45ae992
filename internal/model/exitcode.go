package model

import "strconv"

// The exit status of a job is kept as wait(2) gives it: code<<8, or the signal.

// ExitCode is the exit code in a wait status.
func ExitCode(status int32) int { return int(status>>8) & 0xff }

// ExitSignal is the signal in a wait status.
func ExitSignal(status int32) int { return int(status) & 0x7f }

// ExitText is "code:signal" as scontrol prints it.
func ExitText(status int32) string {
	return strconv.Itoa(ExitCode(status)) + ":" + strconv.Itoa(ExitSignal(status))
}

// ExitTextAccounting is "code:signal" as sacct prints it: a code from 128 on is
// taken for a shell's report of a signal, and printed without the 128.
func ExitTextAccounting(status int32) string {
	code := ExitCode(status)
	if code >= 128 {
		code -= 128
	}
	return strconv.Itoa(code) + ":" + strconv.Itoa(ExitSignal(status))
}

// ExitedStatus is the wait status of a process that exited with the code.
func ExitedStatus(code int) int32 { return int32(code&0xff) << 8 }

// SignaledStatus is the wait status of a process that a signal ended.
func SignaledStatus(signal int) int32 { return int32(signal & 0x7f) }

// ShellCode is what a shell or srun exits with for such a status: the code, or
// 128 and the signal.
func ShellCode(status int32) int {
	if s := ExitSignal(status); s != 0 {
		return 128 + s
	}
	return ExitCode(status)
}
