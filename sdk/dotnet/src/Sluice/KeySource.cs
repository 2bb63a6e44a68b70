using System;
using System.IO;
using System.Linq;

namespace Sluice
{
    /// <summary>The API key: none, a text, or the content of a file that may change.</summary>
    sealed class KeySource
    {
        public static readonly KeySource None = new KeySource(null, null);

        readonly string file;
        volatile string key;

        KeySource(string file, string key)
        {
            this.file = file;
            this.key = key;
        }

        public static KeySource Of(string source, string key)
        {
            if (!IsKey(key)) throw new ArgumentException(source + " must be an API key: visible ASCII without spaces");
            return new KeySource(null, key);
        }

        public static KeySource InFile(string file) => new KeySource(file, null);

        /// <summary>Null for none. Reads the file with the first call.</summary>
        public string Get()
        {
            if (file != null && key == null) key = Read();
            return key;
        }

        /// <summary>After a 401 of the key that was used: the key if the file has another one by now, else null.</summary>
        public string Changed(string used)
        {
            if (file == null) return null;
            string now;
            try
            {
                now = Read();
            }
            catch (SluiceException)
            {
                return null;
            }
            key = now;
            return now == used ? null : now;
        }

        string Read()
        {
            string content;
            try
            {
                content = File.ReadAllText(file).Trim();
            }
            catch (Exception error) when (error is IOException || error is UnauthorizedAccessException)
            {
                throw new SluiceException(ErrorKind.Refused, "the API key's file " + file + " cannot be read");
            }
            if (!IsKey(content))
                throw new SluiceException(ErrorKind.Refused, "the file " + file + " must hold one API key: visible ASCII without spaces");
            return content;
        }

        static bool IsKey(string text) => text.Length > 0 && text.All(c => c > ' ' && c < 0x7f);
    }
}
