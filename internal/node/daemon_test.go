package node

func daemonMain() {}
