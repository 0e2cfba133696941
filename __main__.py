"""`python -m sceneloom` and the console script."""


def main() -> None:
    from .pipelines.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
