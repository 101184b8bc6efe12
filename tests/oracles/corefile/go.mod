module hookrunner.test/corefile

go 1.24

require github.com/coredns/corefile-migration v1.0.36

require github.com/coredns/caddy v1.1.1 // indirect
