"""The check finds what it is there to find, in a small tree of its own."""
import tempfile
import unittest
from pathlib import Path

from check_layers import faults


class CheckLayers(unittest.TestCase):
    def faults_of(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return faults(Path(root))

    BASE = {"common/base/README.md": "May depend on: the standard library.\n", "common/base/a.hpp": ""}

    def test_an_include_that_the_readme_allows_is_no_fault(self):
        self.assertEqual([], self.faults_of(self.BASE | {
            "server/x/README.md": "# x\n\nMay depend on: `common/base`; fmt.\n",
            "server/x/x.cpp": '#include "common/base/a.hpp"\n'}))

    def test_an_include_that_the_readme_does_not_allow_is_named_with_its_file(self):
        found = self.faults_of(self.BASE | {
            "server/x/README.md": "May depend on: fmt.\n", "server/x/x.cpp": '#include "common/base/a.hpp"\n'})
        self.assertEqual(["server/x/x.cpp includes common/base/a.hpp, but server/x may depend on no other folder. "
                          "Remove the include, or add `common/base` to server/x/README.md."], found)

    def test_a_folder_that_is_allowed_and_not_included_is_named(self):
        found = self.faults_of(self.BASE | {"server/x/README.md": "May depend on: `common/base`.\n", "server/x/x.cpp": ""})
        self.assertEqual(1, len(found))
        self.assertIn("no file of server/x includes it", found[0])

    def test_a_circle_is_named_although_the_readmes_allow_it(self):
        found = self.faults_of({
            "server/x/README.md": "May depend on: `server/y`.\n", "server/x/x.hpp": '#include "server/y/y.hpp"\n',
            "server/y/README.md": "May depend on: `server/x`.\n", "server/y/y.hpp": '#include "server/x/x.hpp"\n'})
        self.assertEqual(1, len(found))
        self.assertIn("server/x -> server/y -> server/x", found[0])

    def test_a_folder_without_a_readme_belongs_to_the_folder_above(self):
        found = self.faults_of(self.BASE | {
            "server/x/README.md": "May depend on: fmt.\n", "server/x/deep/x.cpp": '#include "common/base/a.hpp"\n'})
        self.assertEqual(1, len(found))

    def test_a_readme_without_the_statement_is_named(self):
        found = self.faults_of(self.BASE | {"server/x/README.md": "# x\n", "server/x/x.cpp": '#include "common/base/a.hpp"\n'})
        self.assertIn("has no paragraph that begins with", found[0])


if __name__ == "__main__":
    unittest.main()
