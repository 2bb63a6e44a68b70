"""Routes and addresses of ASP.NET Core as the SDK for .NET writes them, by mono."""

import json
import subprocess
from pathlib import Path

from sdk.sdks import FOLDER

ROUTES = {"users/{id}": "/users/{id}", "/users/{id:int}/posts/{post?}": "/users/{id}/posts/{post}", "files/{**path}": "/files/{path}", "files/{*path}": "/files/{path}",
          "{controller=Home}/{action=Index}/{id?}": "/{controller}/{action}/{id}", r"years/{year:regex(^\d{{4}}$)}": "/years/{year}", "": "/"}
ADDRESSES = {"203.0.113.7": "ip:203.0.113.7", "::ffff:203.0.113.7": "ip:203.0.113.7", "2001:db8:1:2:3:4:5:6": "ip:2001:db8:1:2::/64", "::1": "ip:::/64"}


def test_routes_and_addresses_are_written_as_by_the_other_sdks(tmp_path: Path) -> None:
    calls = [f"Requests.Endpoint({quoted(route)})" for route in ROUTES] + [f"Requests.Subject(IPAddress.Parse({quoted(text)}))" for text in ADDRESSES]
    program = tmp_path / "Requests.cs"
    lines = "".join(f"Console.WriteLine({call});" for call in [*calls, "Requests.Endpoint(null)", "Requests.Subject(null)"])
    program.write_text(f"using System; using System.Net; using Sluice; class Program {{ static void Main() {{ {lines} }} }}")
    sources = sorted((FOLDER / "dotnet/src/Sluice").glob("*.cs"))
    subprocess.run(["mcs", "-langversion:latest", f"-out:{tmp_path / 'requests.exe'}", program, *sources], check=True, timeout=120, capture_output=True)
    printed = subprocess.run(["mono", tmp_path / "requests.exe"], check=True, timeout=60, capture_output=True, text=True).stdout.splitlines()
    assert printed == [*ROUTES.values(), *ADDRESSES.values(), "{unmatched}", "ip:unknown"]


def quoted(text: str) -> str:
    """A text of C#, which has JSON's escapes."""
    return json.dumps(text)
