package web

import "strings"

// Braces makes an endpoint of a pattern with parameters in braces, as net/http and chi write them: {id:\d+} is {id}, {path...} and * are
// {path}, {$} is the end of the path.
func Braces(pattern string) string {
	var endpoint strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			end := closing(pattern, i)
			if end < 0 {
				endpoint.WriteString(pattern[i:])
				return endpoint.String()
			}
			name := pattern[i+1 : end]
			name, _, _ = strings.Cut(name, ":")
			name = strings.TrimSuffix(name, "...")
			if name != "$" {
				endpoint.WriteString("{" + name + "}")
			}
			i = end
		case '*':
			endpoint.WriteString("{path}")
		default:
			endpoint.WriteByte(pattern[i])
		}
	}
	return endpoint.String()
}

// closing finds the brace that ends the one at start; braces inside, of a regular expression, come in pairs.
func closing(pattern string, start int) int {
	open := 0
	for i := start; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// Colons makes an endpoint of a pattern with parameters after colons, as gin, echo and fiber write them: :id, :id? and :id<int> are {id},
// *name is {name}, * and + are {path}. \: is a colon.
func Colons(pattern string) string {
	var endpoint strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch letter := pattern[i]; letter {
		case '\\':
			if i++; i < len(pattern) {
				endpoint.WriteByte(pattern[i])
			}
		case ':', '*', '+':
			end := i + 1
			for end < len(pattern) && isName(pattern[end]) {
				end++
			}
			name := pattern[i+1 : end]
			if letter != ':' && strings.Trim(name, "0123456789") == "" {
				name = "path"
			}
			if letter == ':' && end < len(pattern) && pattern[end] == '<' {
				if constraint := strings.IndexByte(pattern[end:], '>'); constraint >= 0 {
					end += constraint + 1
				}
			}
			if end < len(pattern) && pattern[end] == '?' {
				end++
			}
			endpoint.WriteString("{" + name + "}")
			i = end - 1
		default:
			endpoint.WriteByte(letter)
		}
	}
	return endpoint.String()
}

func isName(letter byte) bool {
	return letter == '_' || letter >= '0' && letter <= '9' || letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z'
}
