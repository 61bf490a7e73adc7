# SPDX-License-Identifier: BSD-3-Clause
# Bash completion for glb-director-cli. The program prints its subcommands, and the options of one, with --words.
_glb_director_cli()
{
	local word=${COMP_WORDS[COMP_CWORD]} words

	if ((COMP_CWORD == 1)); then
		words=$("${COMP_WORDS[0]}" --words 2>/dev/null)
	elif [[ $word == -* ]]; then
		words=$("${COMP_WORDS[0]}" --words "${COMP_WORDS[1]}" 2>/dev/null)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o bashdefault -o default -F _glb_director_cli glb-director-cli
