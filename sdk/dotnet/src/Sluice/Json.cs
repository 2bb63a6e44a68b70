using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Sluice
{
    /// <summary>
    /// JSON (RFC 8259) as dictionaries, lists, strings, booleans, null and numbers: long for a whole number that fits, else double.
    /// Own code, so that the core has no dependency and compiles for every .NET.
    /// </summary>
    sealed class Json
    {
        const int MaxDepth = 64;

        readonly string text;
        int at;

        Json(string text)
        {
            this.text = text;
        }

        /// <exception cref="FormatException">The text is no JSON, or is nested more than 64 levels deep.</exception>
        public static object Parse(string text)
        {
            var reader = new Json(text);
            var value = reader.Value(0);
            reader.SkipSpace();
            if (reader.at != text.Length) throw reader.Wrong();
            return value;
        }

        /// <exception cref="ArgumentException">JSON has no form for a value.</exception>
        public static string Write(object value)
        {
            var json = new StringBuilder(128);
            Append(json, value);
            return json.ToString();
        }

        static void Append(StringBuilder json, object value)
        {
            if (value == null) json.Append("null");
            else if (value is bool flag) json.Append(flag ? "true" : "false");
            else if (value is string word) AppendString(json, word);
            else if (value is int || value is long) json.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
            else if (value is double number) AppendDouble(json, number);
            else if (value is IDictionary<string, object> map) AppendMap(json, map);
            else if (value is IEnumerable list) AppendList(json, list);
            else throw new ArgumentException("JSON has no form for a " + value.GetType().Name);
        }

        static void AppendDouble(StringBuilder json, double number)
        {
            if (double.IsNaN(number) || double.IsInfinity(number)) throw new ArgumentException("JSON has no form for " + number);
            json.Append(number.ToString("R", CultureInfo.InvariantCulture));
        }

        static void AppendMap(StringBuilder json, IDictionary<string, object> map)
        {
            json.Append('{');
            var separator = "";
            foreach (var member in map)
            {
                json.Append(separator);
                AppendString(json, member.Key);
                json.Append(':');
                Append(json, member.Value);
                separator = ",";
            }
            json.Append('}');
        }

        static void AppendList(StringBuilder json, IEnumerable list)
        {
            json.Append('[');
            var separator = "";
            foreach (var item in list)
            {
                json.Append(separator);
                Append(json, item);
                separator = ",";
            }
            json.Append(']');
        }

        static void AppendString(StringBuilder json, string word)
        {
            json.Append('"');
            foreach (var c in word)
            {
                if (c == '"' || c == '\\') json.Append('\\').Append(c);
                else if (c < 0x20 || char.IsSurrogate(c)) json.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                else json.Append(c);
            }
            json.Append('"');
        }

        object Value(int depth)
        {
            SkipSpace();
            if (at == text.Length || depth > MaxDepth) throw Wrong();
            switch (text[at])
            {
                case '{': return Map(depth);
                case '[': return List(depth);
                case '"': return Text();
                case 't': return Word("true", true);
                case 'f': return Word("false", false);
                case 'n': return Word("null", null);
                default: return Number();
            }
        }

        Dictionary<string, object> Map(int depth)
        {
            var map = new Dictionary<string, object>();
            at++;
            SkipSpace();
            if (Take('}')) return map;
            do
            {
                SkipSpace();
                if (at == text.Length || text[at] != '"') throw Wrong();
                var name = Text();
                SkipSpace();
                Expect(':');
                map[name] = Value(depth + 1);
                SkipSpace();
            } while (Take(','));
            Expect('}');
            return map;
        }

        List<object> List(int depth)
        {
            var list = new List<object>();
            at++;
            SkipSpace();
            if (Take(']')) return list;
            do
            {
                list.Add(Value(depth + 1));
                SkipSpace();
            } while (Take(','));
            Expect(']');
            return list;
        }

        string Text()
        {
            at++;
            var found = new StringBuilder();
            while (true)
            {
                if (at == text.Length) throw Wrong();
                var c = text[at++];
                if (c == '"') return found.ToString();
                if (c < 0x20) throw Wrong();
                found.Append(c == '\\' ? Escape() : c);
            }
        }

        char Escape()
        {
            if (at == text.Length) throw Wrong();
            var c = text[at++];
            switch (c)
            {
                case '"':
                case '\\':
                case '/': return c;
                case 'b': return '\b';
                case 'f': return '\f';
                case 'n': return '\n';
                case 'r': return '\r';
                case 't': return '\t';
                case 'u':
                    if (at + 4 > text.Length || !ushort.TryParse(text.Substring(at, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var code))
                        throw Wrong();
                    at += 4;
                    return (char)code;
                default: throw Wrong();
            }
        }

        object Number()
        {
            var begin = at;
            var whole = true;
            Take('-');
            var digits = at;
            Digits();
            if (at - digits > 1 && text[digits] == '0') throw Wrong();
            if (Take('.'))
            {
                whole = false;
                Digits();
            }
            if (Take('e') || Take('E'))
            {
                whole = false;
                if (!Take('+')) Take('-');
                Digits();
            }
            var number = text.Substring(begin, at - begin);
            if (whole && long.TryParse(number, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var integer)) return integer;
            return double.Parse(number, NumberStyles.Float, CultureInfo.InvariantCulture);
        }

        void Digits()
        {
            var begin = at;
            while (at < text.Length && text[at] >= '0' && text[at] <= '9') at++;
            if (at == begin) throw Wrong();
        }

        object Word(string word, object value)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Wrong();
            at += word.Length;
            return value;
        }

        void SkipSpace()
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at++;
        }

        bool Take(char c)
        {
            if (at == text.Length || text[at] != c) return false;
            at++;
            return true;
        }

        void Expect(char c)
        {
            if (!Take(c)) throw Wrong();
        }

        FormatException Wrong() => new FormatException("no JSON at character " + at);
    }
}
