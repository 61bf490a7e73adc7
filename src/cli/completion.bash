# SPDX-License-Identifier: BSD-3-Clause
# Completion of glb-director-cli: the program itself knows its subcommands and their options.
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
