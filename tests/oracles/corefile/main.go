// Answers what corefile-migration does with each request on standard input, one JSON document a line: the migrated
// Corefile as servers, plugins and options, or its error, which a panic is too. Tests compare our migration with it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/coredns/corefile-migration/migration"
	"github.com/coredns/corefile-migration/migration/corefile"
)

type request struct {
	Origin string `json:"origin"`
	Target string `json:"target"`
	Down   bool   `json:"down"`
	Text   string `json:"text"`
}

type answer struct {
	Text    string              `json:"text"`
	Servers []*corefile.Server  `json:"servers"`
	Notices []*migration.Notice `json:"notices"`
	Default bool                `json:"default"`
	Error   string              `json:"error"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		if err := out.Encode(answerTo(in.Bytes())); err != nil {
			panic(err)
		}
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}

func answerTo(line []byte) (result answer) {
	defer func() {
		if fault := recover(); fault != nil {
			result = answer{Error: fmt.Sprint("panic: ", fault)}
		}
	}()
	asked := request{}
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	migrate := func() (string, error) {
		return migration.Migrate(asked.Origin, asked.Target, asked.Text, false)
	}
	if asked.Down {
		migrate = func() (string, error) { return migration.MigrateDown(asked.Origin, asked.Target, asked.Text) }
	}
	text, err := migrate()
	if err != nil {
		return answer{Error: err.Error()}
	}
	parsed, err := corefile.New(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	notices := []*migration.Notice{}
	if !asked.Down {
		found, err := migration.Deprecated(asked.Origin, asked.Target, asked.Text)
		if err != nil {
			return answer{Error: err.Error()}
		}
		for number := range found {
			notices = append(notices, &found[number])
		}
	}
	return answer{Text: text, Servers: parsed.Servers, Notices: notices, Default: migration.Default("", asked.Text)}
}
