"""What only the SDK for .NET has."""
