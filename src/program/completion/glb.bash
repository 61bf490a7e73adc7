# SPDX-License-Identifier: BSD-3-Clause
# Bash completion for all programs of GLB Director. The programs answer `PROGRAM --complete WORD...` from their own tables of
# options: a line is a word and its help, or a TAB and the ending of file names.
_glb_complete()
{
	local word=${COMP_WORDS[COMP_CWORD]} line files=()

	[[ $word != = ]] || word=
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == $'\t'* ]]; then
			mapfile -t -O "${#files[@]}" files < <(compgen -f -X "!*${line#$'\t'}" -- "$word")
		elif [[ ${line%%$'\t'*} == "$word"* ]]; then
			COMPREPLY+=("${line%%$'\t'*}")
		fi
		[[ $line != $'\t'* || ${#files[@]} -gt 0 ]] || files=("")
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	[[ ${#files[@]} -gt 0 ]] || return 0
	compopt -o filenames 2>/dev/null
	mapfile -t files < <(printf '%s\n' "${files[@]}"; compgen -d -- "$word")
	mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" "${files[@]}" | grep . | sort -u)
}
complete -F _glb_complete glb-director glb-director-cli glb-healthcheck glb-redirect glb-bifurcate
