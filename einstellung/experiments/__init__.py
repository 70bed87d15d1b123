"""From a configuration to a finished results folder: plan, launch, execute, measure."""
