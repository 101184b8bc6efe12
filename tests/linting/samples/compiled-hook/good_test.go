package hooks

import "github.com/flant/addon-operator/sdk"

var _ = sdk.RegisterFunc(nil, nil)
