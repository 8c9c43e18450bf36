from laari_client.cli import main

main()
